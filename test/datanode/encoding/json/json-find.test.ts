/** What paths name, beside a walk over the whole document that knows nothing of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  findSpots,
  outermost,
  removeAll,
  replaceAt,
} from '../../../../src/datanode/encoding/json/json-find.ts';
import { mergedJson } from '../../../../src/datanode/encoding/json/json-merge.ts';
import { parsePath } from '../../../../src/datanode/encoding/json/json-path.ts';
import { finished, found, parsed, textOf } from './at-once.ts';
import { documents, names, places, textFrom } from './documents.ts';

test('each value is found by its own place', () => {
  fc.assert(
    fc.property(documents, (drawn) => {
      const root = parsed(textFrom(drawn));
      for (const [place, text] of places(root)) {
        expect(found(root, `$${place}`), place).toEqual([text]);
      }
    }),
    { numRuns: 200 },
  );
});

test('at any depth all are found, in the order of the document', () => {
  fc.assert(
    fc.property(documents, names, (drawn, name) => {
      const root = parsed(textFrom(drawn));
      const all = places(root).slice(1);
      expect(found(root, '$..*').sort()).toEqual(all.map(([, text]) => text).sort());
      const own = all.filter(([place]) => place.endsWith(`[${JSON.stringify(name)}]`));
      expect(found(root, `$..[${JSON.stringify(name)}]`).sort()).toEqual(
        own.map(([, text]) => text).sort(),
      );
      // no value twice, on however many ways it is met
      expect(found(root, '$..*..*')).toHaveLength(
        all.filter(([place]) => /\].*\]/.test(place.replace(/"(?:[^"\\]|\\.)*"/g, ''))).length,
      );
    }),
    { numRuns: 200 },
  );
});

test('what is removed is found no more, and nothing else has gone', () => {
  const path = parsePath(Buffer.from('$..[?(@==1)]'));
  fc.assert(
    fc.property(documents, (drawn) => {
      const root = parsed(textFrom(drawn));
      const others = places(root).filter(([, text]) => text !== '1' && !/[[{]/.test(text));
      const spots = finished(outermost(finished(findSpots(root, path))));
      removeAll(spots);
      expect(finished(findSpots(root, path))).toEqual([]);
      const left = places(root).filter(([, text]) => !/[[{]/.test(text) && text !== '1');
      expect(left.map(([, text]) => text)).toEqual(others.map(([, text]) => text));
    }),
    { numRuns: 200 },
  );
});

test('of values within each other only the outer ones are changed', () => {
  const root = parsed('{"a":{"a":{"a":1}},"b":{"a":2}}');
  const spots = finished(outermost(finished(findSpots(root, parsePath(Buffer.from('$..a'))))));
  expect(spots.map(({ value }) => textOf(value))).toEqual(['{"a":{"a":1}}', '2']);
  for (const spot of spots) replaceAt(root, spot, 0);
  expect(textOf(root)).toBe('{"a":0,"b":{"a":0}}');
});

const store = parsed(
  '{"book":[{"p":8.95,"t":"A"},{"p":12,"t":"B","x":[]},{"p":8,"t":"C"},{"t":null}],"max":10}',
);

test.each([
  ['$.book[?(@.p<10)].t', ['"A"', '"C"']],
  ['$.book[?(@.p<=8)].t', ['"C"']],
  ['$.book[?@.p>$.max].t', ['"B"']],
  ['$.book[?(@.p<$.max&&@.t!="A")].t', ['"C"']],
  ['$.book[?(@.x)].t', ['"B"']],
  ['$.book[?(!@.p)].t', ['null']],
  ['$.book[?(@.t==null)]', ['{"t":null}']],
  ["$.book[?(@.t>='B'||@['p']==8.95)].t", ['"A"', '"B"', '"C"']],
  ['$.book[?(@.p<"10")].t', []],
  ['$.book[?(@.zzz!=1)].t', ['"A"', '"B"', '"C"', 'null']],
  ['$.book[?(@.x==$.book[1].x)].t', ['"B"']],
  ['$.book[-1].t', ['null']],
  ['$.book[9].t', []],
  ['$.book[1:3].t', ['"B"', '"C"']],
  ['$.book[-3:-1].t', ['"B"', '"C"']],
  ['$.book[::3].t', ['"A"', 'null']],
  ['$.book[0,0,1].t', ['"A"', '"B"']],
  ["$.book[0]['t','p','t']", ['"A"', '8.95']],
  ['$.max.x', []],
  ['$', [textOf(store)]],
  ['.book[0].t', ['"A"']],
  ['book[0].t', ['"A"']],
  ['["max"]', ['10']],
])('%s', (path, expected) => {
  expect(found(store, path)).toEqual(expected);
});

test.each([
  ['$.', 'expected a name at the end'],
  ['$x', 'expected `.` or `[`'],
  ['$[', 'expected a name in quotes'],
  ['$[1', 'expected `]`'],
  ['$[1:2:-1]', 'the step of a slice'],
  ['$["a]', 'a quote is not closed'],
  ['$[?(@.a]', 'expected `)`'],
  ['$[?(@.a=~"x")]', 'regular expressions are not supported'],
  ['$[?(@.a<)]', 'expected `@`, `$` or a value'],
  ['$[?(1)]', 'expected a comparison'],
  [`$[?${'('.repeat(40)}@.a${')'.repeat(40)}]`, 'a filter within too many others'],
  [`$${'.a'.repeat(300)}`, 'too many steps'],
  ['a'.repeat(20_000), 'a path has at most 16384 bytes'],
])('%#: refused', (path, message) => {
  expect(() => parsePath(Buffer.from(path))).toThrow(message);
});

test('a path that would pass more values than any document has is given up', () => {
  const deep = `${'['.repeat(110)}1${']'.repeat(110)},`;
  const root = parsed(`[${deep.repeat(400)}1]`);
  let pauses = 0;
  const walk = () => finished(findSpots(root, parsePath(Buffer.from('$..*..*'))), () => pauses++);
  expect(walk).toThrow(`the path passes more than ${limits.jsonWalkMax} values`);
  expect(pauses).toBeGreaterThan(1_000);
  const long = parsed(`[[${'1,'.repeat(10_000)}1]]`);
  expect(() => found(long, '$[?(@..zzz)]')).toThrow('the path passes more than 8192 values');
});

test('the examples of RFC 7396', () => {
  const examples = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ] as const;
  for (const [target, patch, merged] of examples) {
    expect(textOf(mergedJson(parsed(target), parsed(patch)))).toBe(merged);
  }
});
