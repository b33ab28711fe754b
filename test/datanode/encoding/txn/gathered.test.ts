import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  elementRange,
  encodeMemberKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { encodeKey, keyAfter } from '../../../../src/datanode/encoding/records/key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { Gathered, GatherWriter } from '../../../../src/datanode/encoding/txn/gathered.ts';

const place = (index: number) => ({ slot: 7, version: { index, ordinal: 0 } });
const pause = async () => {};

/** Elements of the members, in the order of the engine. */
function elements(index: number, members: readonly string[]): Buffer[] {
  const keys = members.map((member) =>
    encodeMemberKey(tags.setMember, place(index), Buffer.from(member)),
  );
  return keys.sort(Buffer.compare);
}

function pack(...pairs: readonly (readonly [Buffer, Buffer])[]): Buffer {
  const writer = new GatherWriter(1_000_000);
  for (const [key, value] of pairs) writer.add(key, value);
  return writer.finish();
}

test('the form is frozen', () => {
  const bytes = pack([Buffer.from('k'), Buffer.from('vw')]);
  expect(bytes.toString('hex')).toBe('01000000016b000000027677');
});

test('records and elements are found, in slices and in both directions', async () => {
  const members = fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(members, members, fc.integer({ min: 1, max: 9 }), async (one, two, limit) => {
      const record = encodeKey(Buffer.from('key'));
      const value = Buffer.from('v');
      const [first, second] = [elements(1, one), elements(2, two)];
      const gathered = await Gathered.open(
        [
          pack([record, value], ...first.map((key) => [key, value] as const)),
          pack(...second.map((key) => [key, value] as const)),
        ],
        pause,
      );
      expect(gathered.get(record)).toEqual(value);
      expect(gathered.get(encodeKey(Buffer.from('other')))).toBeUndefined();
      for (const key of [...first, ...second]) expect(gathered.get(key)).toEqual(value);
      expect(gathered.get(elements(3, ['a'])[0]!)).toBeUndefined();
      for (const [index, keys] of [first, second].entries()) {
        const range = elementRange(tags.setMember, place(index + 1));
        const met: Buffer[] = [];
        let rest = { ...range, limit };
        for (let got = gathered.range(rest); got.length > 0; got = gathered.range(rest)) {
          expect(got.length).toBeLessThanOrEqual(limit);
          met.push(...got.map(([key]) => key));
          rest = { ...rest, gte: keyAfter(met.at(-1)!) };
        }
        expect(met).toEqual(keys);
        const backwards = gathered.range({ ...range, reverse: true, limit });
        expect(backwards.map(([key]) => key)).toEqual([...keys].reverse().slice(0, limit));
      }
    }),
    { numRuns: 200, seed: 1 },
  );
});

test('a writer that is full takes nothing more and says so', () => {
  const writer = new GatherWriter(100);
  for (let at = 0; at < 50; at++) writer.add(Buffer.from('key'), Buffer.alloc(20));
  expect(writer.overfull).toBe(true);
  expect(writer.finish().length).toBeLessThan(200);
});

test('bytes that are cut, or of another version, are refused', async () => {
  const whole = pack([Buffer.from('some key'), Buffer.from('value')]);
  for (let cut = 2; cut < whole.length; cut++) {
    await expect(Gathered.open([whole.subarray(0, cut)], pause)).rejects.toThrow(
      /gathered records/,
    );
  }
  const other = Buffer.from(whole);
  other[0] = 2;
  await expect(Gathered.open([other], pause)).rejects.toThrow(/unknown version/);
});
