/** Texts with one value changed in them, beside documents that were changed and written anew. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { findSpots, replaceAt } from '../../../../src/datanode/encoding/json/json-find.ts';
import { parsePath, soleName } from '../../../../src/datanode/encoding/json/json-path.ts';
import { countValues, findText } from '../../../../src/datanode/encoding/json/json-scan.ts';
import { withNewMember, withPart } from '../../../../src/datanode/encoding/json/json-splice.ts';
import type { Json } from '../../../../src/datanode/encoding/json/json-value.ts';
import { finished, parsed, textOf } from './at-once.ts';
import { documents, places, textFrom } from './documents.ts';

const pathOf = (text: string) => parsePath(Buffer.from(text));

function splicedAt(text: string, path: string, value: Json): string | undefined {
  const bytes = Buffer.from(text);
  const part = finished(findText(bytes, pathOf(path)))!;
  return finished(withPart(bytes, part, pathOf(path), value))?.toString();
}

function addedAt(text: string, path: string, value: Json): string | undefined {
  const parsedPath = pathOf(path);
  const name = soleName(parsedPath.steps.at(-1))!;
  return finished(withNewMember(Buffer.from(text), parsedPath, name, value))?.toString();
}

test('a value takes the place of each other, to the byte as in the document', () => {
  fc.assert(
    fc.property(documents, documents, (drawn, other) => {
      const text = textOf(parsed(textFrom(drawn)));
      const value = parsed(textFrom(other));
      for (const [place] of places(parsed(text))) {
        const root = parsed(text);
        const [spot] = finished(findSpots(root, pathOf(`$${place}`)));
        const changed = textOf(replaceAt(root, spot!, value));
        expect(splicedAt(text, `$${place}`, value), place).toBe(changed);
        expect(finished(countValues(Buffer.from(changed)))).toBe(places(parsed(changed)).length);
      }
    }),
    { numRuns: 200 },
  );
});

test('a member is added to each object, and to nothing else', () => {
  let [added, refused] = [0, 0];
  fc.assert(
    fc.property(documents, (drawn) => {
      const text = textOf(parsed(textFrom(drawn)));
      for (const [place] of places(parsed(text))) {
        const root = parsed(text);
        const [spot] = finished(findSpots(root, pathOf(`$${place}`)));
        const isObject = spot!.value instanceof Map;
        if (spot!.value instanceof Map) spot!.value.set('ne"w', [1]);
        const made = addedAt(text, `$${place}['ne"w']`, [1]);
        expect(made, place).toBe(isObject ? textOf(root) : undefined);
        if (isObject) added++;
        else refused++;
      }
    }),
    { numRuns: 200 },
  );
  expect(Math.min(added, refused)).toBeGreaterThan(100);
});

test('what would be too deep, too long or too many is not made, and what is just within is', () => {
  const nested = (depth: number) => parsed('['.repeat(depth) + 1 + ']'.repeat(depth));
  expect(splicedAt('{"a":[1]}', '$.a[0]', nested(125))).toBeDefined();
  expect(splicedAt('{"a":[1]}', '$.a[0]', nested(126))).toBeUndefined();
  expect(addedAt('{"a":{}}', '$.a.b', nested(125))).toBeDefined();
  expect(addedAt('{"a":{}}', '$.a.b', nested(126))).toBeUndefined();
  const room = limits.valueBytesMax - '{"a":"","b":"x"}'.length;
  const long = (length: number) => 'x'.repeat(length);
  expect(splicedAt('{"a":1,"b":"x"}', '$.a', long(room))).toHaveLength(limits.valueBytesMax);
  expect(splicedAt('{"a":1,"b":"x"}', '$.a', long(room + 1))).toBeUndefined();
  const many = `[${'[],'.repeat(limits.jsonValuesMax - 3)}1]`;
  expect(splicedAt(many, '$[-1]', [])).toBeDefined();
  expect(splicedAt(many, '$[-1]', [1])).toBeDefined();
  expect(splicedAt(many, '$[-1]', [1, 2])).toBeUndefined();
});
