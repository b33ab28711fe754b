import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeListPlace,
  decodeMember,
  decodeScore,
  elementRange,
  encodeListKey,
  encodeMemberKey,
  encodeScoreKey,
  LIST_ORIGIN,
  type ListPlace,
  placeBetween,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { memberHash } from '../../../../src/datanode/encoding/records/member-hash.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';

const bytes = fc.uint8Array({ maxLength: 12 }).map((each) => Buffer.from(each));
const place = fc.record({
  slot: fc.nat(16_383),
  version: fc.record({ index: fc.nat(2 ** 40), ordinal: fc.nat(2 ** 32 - 1) }),
});
const score = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, Infinity, -Infinity, 5e-324, -5e-324, Number.MAX_VALUE),
);

test('scores sort as doubles compare, then by member; each comes back exactly', () => {
  fc.assert(
    fc.property(place, score, score, bytes, bytes, (at, one, other, a, b) => {
      const [x, y] = [encodeScoreKey(at, one, a), encodeScoreKey(at, other, b)];
      const wanted = one === other ? a.compare(b) : one < other ? -1 : 1;
      expect(Math.sign(x.compare(y))).toBe(Math.sign(wanted));
      expect(decodeScore(x)).toBe(one === 0 ? 0 : one);
      expect(decodeMember(x)).toEqual(a);
    }),
    { numRuns: 1_000 },
  );
});

test('members sort by hash, then themselves, and come back', () => {
  fc.assert(
    fc.property(place, bytes, bytes, (at, a, b) => {
      const [x, y] = [a, b].map((member) => encodeMemberKey(tags.setMember, at, member));
      const [[ah, al], [bh, bl]] = [memberHash(a), memberHash(b)];
      const wanted = ah - bh || al - bl || a.compare(b);
      expect(Math.sign(x!.compare(y!))).toBe(Math.sign(wanted));
      expect(decodeMember(x!)).toEqual(a);
    }),
  );
});

test('between two places of a list there is always a third', () => {
  const at = { slot: 1, version: { index: 1, ordinal: 0 } };
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { maxLength: 200 }), (choices) => {
      const places: ListPlace[] = [
        { whole: LIST_ORIGIN, fraction: Buffer.alloc(0) },
        { whole: LIST_ORIGIN + 1, fraction: Buffer.alloc(0) },
      ];
      for (const choice of choices) {
        const before = choice % (places.length - 1);
        places.splice(before + 1, 0, placeBetween(places[before]!, places[before + 1]!));
      }
      const keys = places.map((each) => encodeListKey(at, each));
      for (let i = 1; i < keys.length; i++) expect(keys[i - 1]!.compare(keys[i]!)).toBe(-1);
      expect(keys.map(decodeListPlace)).toEqual(places);
    }),
  );
});

test('the range of a collection holds its elements and nobody else’s', () => {
  fc.assert(
    fc.property(place, place, bytes, (own, other, member) => {
      const { gte, lt } = elementRange(tags.hashField, own);
      const inside = (key: Buffer) => key.compare(gte!) >= 0 && key.compare(lt!) < 0;
      expect(inside(encodeMemberKey(tags.hashField, own, member))).toBe(true);
      expect(inside(encodeMemberKey(tags.setMember, own, member))).toBe(false);
      const same =
        own.slot === other.slot &&
        own.version.index === other.version.index &&
        own.version.ordinal === other.version.ordinal;
      expect(inside(encodeMemberKey(tags.hashField, other, member))).toBe(same);
    }),
  );
});
