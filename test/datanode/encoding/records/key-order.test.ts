/**
 * Every key codec: encoded order is logical order, so that a walk over the engine meets keys of one
 * kind in the order that `tags.ts` promises, and what is decoded is what was encoded.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { slotOfKey } from '../../../../src/common/hash.ts';
import {
  decodeGarbageKey,
  encodeGarbageKey,
} from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import {
  type CollectionPlace,
  decodeDueMs,
  decodeListPlace,
  decodeMember,
  decodeScore,
  encodeBlockKey,
  encodeDueKey,
  encodeListKey,
  encodeMemberKey,
  encodeScoreKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import {
  decodeExpiryKey,
  decodeKey,
  encodeExpiryKey,
  encodeKey,
} from '../../../../src/datanode/encoding/records/key.ts';
import { keyHash, memberHash } from '../../../../src/datanode/encoding/records/member-hash.ts';
import { systemKey } from '../../../../src/datanode/encoding/records/system.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import {
  encodeServedKey,
  encodeServedOrderKey,
} from '../../../../src/datanode/encoding/sessions/served.ts';
import {
  encodeSessionKey,
  encodeSessionReplyKey,
} from '../../../../src/datanode/encoding/sessions/sessions.ts';

type Part = number | Buffer;

/** What a key is made of, in the order in which its parts decide, and whether it comes back. */
interface Example {
  readonly encoded: Buffer;
  readonly parts: readonly Part[];
  readonly comesBack: boolean;
}

const equal = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Few different ones, so that later parts decide as well, at both ends of their range. */
const number = (max: number) =>
  fc.oneof(
    fc.constantFrom(...[0, 1, 255, 256, max - 1, max].filter((one) => one <= max)),
    fc.nat(Math.min(max, 2 ** 31 - 1)),
  );
const u16 = number(16_383);
const u32 = number(2 ** 32 - 1);
const u64 = fc.oneof(number(Number.MAX_SAFE_INTEGER), fc.maxSafeNat());
const u8 = number(255);
const bytes = fc
  .oneof(fc.constantFrom([], [0], [255], [0, 0], [97]), fc.array(fc.nat(255), { maxLength: 6 }))
  .map((list) => Buffer.from(list));
const name = fc.constantFrom('a', 'aa', 'b', 'state', 'counts', '');
/** Mostly one of few, for the parts behind it to decide. */
const place: fc.Arbitrary<CollectionPlace> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      { slot: 1, version: { index: 5, ordinal: 1 } },
      { slot: 1, version: { index: 5, ordinal: 256 } },
      { slot: 1, version: { index: 256, ordinal: 0 } },
    ),
  },
  fc.record({ slot: u16, version: fc.record({ index: u64, ordinal: u32 }) }),
);
const score = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(0, 1, -1, 0.5, Infinity, -Infinity, 5e-324, -5e-324, Number.MAX_VALUE),
);
const fraction = bytes.filter((digits) => digits.at(-1) !== 0);

const partsOf = ({ slot, version }: CollectionPlace): Part[] => [
  slot,
  version.index,
  version.ordinal,
];

function plain(encoded: Buffer, parts: readonly Part[], comesBack = true): Example {
  return { encoded, parts, comesBack };
}

const members = (tag: 'hashField' | 'setMember' | 'zsetMember') =>
  fc.tuple(place, bytes).map(([at, member]) => {
    const encoded = encodeMemberKey(tags[tag], at, member);
    const parts = [...partsOf(at), ...memberHash(member), member];
    return plain(encoded, parts, decodeMember(encoded).equals(member));
  });

const expiries = (tag: 'expiry' | 'fieldExpiry') =>
  fc.tuple(u64, bytes).map(([deadlineMs, key]) => {
    const encoded = encodeExpiryKey(deadlineMs, key, tags[tag]);
    const found = decodeExpiryKey(encoded);
    const slot = slotOfKey(key);
    return plain(encoded, [deadlineMs, slot, key], equal(found, { deadlineMs, slot, key }));
  });

/** The other tags of sessions are numbers made by the same function as `sessionReply`. */
const codecs: Readonly<Partial<Record<keyof typeof tags, fc.Arbitrary<Example>>>> = {
  system: name.map((text) => plain(systemKey(text), [Buffer.from(text)])),
  served: bytes.map((id) => plain(encodeServedKey(id), [id])),
  servedOrder: u64.map((order) => plain(encodeServedOrderKey(order), [order])),
  session: bytes.map((id) => plain(encodeSessionKey(id), [id])),
  sessionReply: fc
    .tuple(u64, u64)
    .map((numbers) => plain(encodeSessionReplyKey(...numbers), numbers)),
  key: bytes.map((key) => {
    const encoded = encodeKey(key);
    const [slot, hash] = [slotOfKey(key), keyHash(key)];
    return plain(encoded, [slot, hash, key], equal(decodeKey(encoded), { slot, hash, key }));
  }),
  expiry: expiries('expiry'),
  fieldExpiry: expiries('fieldExpiry'),
  hashField: members('hashField'),
  setMember: members('setMember'),
  zsetMember: members('zsetMember'),
  listElement: fc.tuple(place, u64, fraction).map(([at, whole, digits]) => {
    const encoded = encodeListKey(at, { whole, fraction: digits });
    const comesBack = equal(decodeListPlace(encoded), { whole, fraction: digits });
    return plain(encoded, [...partsOf(at), whole, digits], comesBack);
  }),
  zsetScore: fc.tuple(place, score, bytes).map(([at, value, member]) => {
    const encoded = encodeScoreKey(at, value, member);
    const comesBack = decodeScore(encoded) === value && decodeMember(encoded).equals(member);
    return plain(encoded, [...partsOf(at), value, member], comesBack);
  }),
  hashDue: fc.tuple(place, u64, bytes).map(([at, deadlineMs, field]) => {
    const encoded = encodeDueKey(at, deadlineMs, field);
    const comesBack = decodeDueMs(encoded) === deadlineMs && decodeMember(encoded).equals(field);
    return plain(encoded, [...partsOf(at), deadlineMs, field], comesBack);
  }),
  zsetBlock: fc
    .tuple(place, u32, u8)
    .map(([at, node, part]) => plain(encodeBlockKey(at, node, part), [...partsOf(at), node, part])),
  garbage: fc.tuple(place, u8).map(([at, type]) => {
    const encoded = encodeGarbageKey({ ...at, type });
    return plain(
      encoded,
      [...partsOf(at), type],
      equal(decodeGarbageKey(encoded), { ...at, type }),
    );
  }),
};

function compare(one: readonly Part[], other: readonly Part[]): number {
  for (const [at, part] of one.entries()) {
    const against = other[at]!;
    if (typeof part === 'number') {
      if (part !== against) return part < (against as number) ? -1 : 1;
    } else if (part.compare(against as Buffer) !== 0) return part.compare(against as Buffer);
  }
  return 0;
}

describe.each(Object.entries(codecs))('%s', (tag, codec) => {
  test('encoded order is logical order', () => {
    const number = tags[tag as keyof typeof tags];
    fc.assert(
      fc.property(fc.array(codec, { minLength: 12, maxLength: 12 }), (examples) => {
        expect(examples.every((one) => one.comesBack && one.encoded[0] === number)).toBe(true);
        const byBytes = [...examples].sort((a, b) => a.encoded.compare(b.encoded));
        const byParts = [...examples].sort((a, b) => compare(a.parts, b.parts));
        const shown = (list: readonly Example[]) => list.map((one) => one.encoded.toString('hex'));
        expect(shown(byBytes)).toEqual(shown(byParts));
      }),
      { numRuns: 150 },
    );
  });
});

test('no kind of key is left out', () => {
  const others = ['sessionKept', 'sessionOrder', 'sessionEnded'];
  const reserved = ['streamEntry', 'streamGroup', 'streamPending'];
  expect([...Object.keys(codecs), ...others, ...reserved].sort()).toEqual(Object.keys(tags).sort());
});
