/** Values that are found in the text of a document, beside those that are found in the document. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePath } from '../../../../src/datanode/encoding/json/json-path.ts';
import { findText } from '../../../../src/datanode/encoding/json/json-scan.ts';
import { finished, found, parsed, textOf } from './at-once.ts';
import { documents, places, textFrom } from './documents.ts';

function scanned(text: string, path: string, onPause?: () => void): string | undefined {
  return finished(findText(Buffer.from(text), parsePath(Buffer.from(path))), onPause)?.toString();
}

test('each value is found at its place, and none where there is none', () => {
  const mark = fc.constantFrom(
    '["a"]',
    "['c d']",
    '[0]',
    '[-1]',
    '[3]',
    '.b',
    '["__proto__"]',
    '["x"]',
  );
  let [hits, misses] = [0, 0];
  fc.assert(
    fc.property(documents, fc.array(mark, { maxLength: 3 }), (drawn, marks) => {
      const root = parsed(textFrom(drawn));
      const text = textOf(root);
      for (const [place, value] of places(root)) {
        expect(scanned(text, `$${place}`), place).toBe(value);
        const [other] = found(root, `$${place}${marks.join('')}`);
        expect(scanned(text, `$${place}${marks.join('')}`), place).toBe(other);
        if (other === undefined) misses++;
        else hits++;
      }
    }),
    { numRuns: 300 },
  );
  expect(Math.min(hits, misses)).toBeGreaterThan(100);
});

test.each([
  ['{"a\\"b":1,"a":{"]":[2,"}"]},"é":3}', '$.a["]"][1]', '"}"'],
  ['{"a\\"b":1,"a":2}', '$["a\\"b"]', '1'],
  ['{"a\\\\":1,"a":2}', '$["a\\\\"]', '1'],
  ['{"a\\\\":"\\\\","a":2}', '$.a', '2'],
  ['{"\\n":1,"\\u0001":2}', '$["\u0001"]', '2'],
  ['{"e":1,"é":3}', '$.é', '3'],
  ['{"":7}', '$[""]', '7'],
  ['[-1.5e300,[[]],{}]', '$[0]', '-1.5e300'],
  ['[1,[[]],{}]', '$[1][0]', '[]'],
  ['[1,[[]],{}]', '$[-4]', undefined],
  ['"x"', '$', '"x"'],
  ['12', '$', '12'],
  ['12', '$.a', undefined],
])('in %s %s is %s', (text, path, value) => {
  expect(textOf(parsed(text))).toBe(text);
  expect(scanned(text, path)).toBe(value);
  expect(found(parsed(text), path)).toEqual(value === undefined ? [] : [value]);
});

test('others get their turn while a large document is passed', () => {
  for (const [part, path] of [
    ['{"a":[1,"x"]},', '$[-1]'],
    ['1,', '$[-1]'],
    ['[[[[[[1]]]]]],', '$[99999]'],
  ] as const) {
    let pauses = 0;
    expect(scanned(`[${part.repeat(99_999)}7]`, path, () => pauses++)).toBe('7');
    expect(pauses, part).toBeGreaterThan(20);
  }
  let pauses = 0;
  const members = Array.from({ length: 99_999 }, (_, at) => `"${at}":1`).join();
  expect(scanned(`{${members},"a":7}`, '$.a', () => pauses++)).toBe('7');
  expect(pauses).toBeGreaterThan(20);
});

test('to look into a text that is cut short comes to an end', () => {
  const text = '{"a":{"b":["c",{"d":"\\\\"}]},"e":[1]}';
  const seen = new Set<string>();
  for (let bytes = 1; bytes < text.length; bytes++) {
    try {
      seen.add(scanned(text.slice(0, bytes), '$.e[0]') ?? 'none');
    } catch (failure) {
      seen.add(String(failure));
    }
  }
  expect(seen).toContain('JsonError: the stored document is cut short');
});
