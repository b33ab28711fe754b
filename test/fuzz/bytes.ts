/** Bytes bent as a bad disk, a bad wire or a wrong program bends them; and bytes cut into chunks. */
import fc from 'fast-check';

/** Places are drawn as fractions: they fit input of any length. */
const fraction = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const count = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 600 }));
/** Also the numbers that lengths and counts are made of. */
const someBytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('ffffffff', '7fffffff', '00000000', '00100000', 'ffffffffffffffff')
    .map((hex) => Buffer.from(hex, 'hex')),
);
const constant = fc.constant;

const bend = fc.oneof(
  fc.record({ kind: constant('flip' as const), place: fraction, bit: fc.nat(7) }),
  fc.record({ kind: constant('keep' as const), place: fraction }),
  fc.record({ kind: constant('cut' as const), place: fraction, count }),
  fc.record({ kind: constant('double' as const), place: fraction, count }),
  fc.record({ kind: constant('zero' as const), place: fraction, count }),
  fc.record({ kind: constant('insert' as const), place: fraction, bytes: someBytes }),
  fc.record({ kind: constant('overwrite' as const), place: fraction, bytes: someBytes }),
);
type Bend = typeof bend extends fc.Arbitrary<infer Value> ? Value : never;

export type Bending = (bytes: Buffer) => Buffer;

/** One to three changes, one after the other. */
export const bending: fc.Arbitrary<Bending> = fc
  .array(bend, { minLength: 1, maxLength: 3 })
  .map((bends) => {
    const apply: Bending = (bytes) => bends.reduce(bendBy, Buffer.from(bytes));
    return Object.assign(apply, { [fc.toStringMethod]: () => fc.stringify(bends) });
  });

function bendBy(bytes: Buffer, one: Bend): Buffer {
  const at = Math.floor(one.place * bytes.length);
  const rest = bytes.subarray(at);
  switch (one.kind) {
    case 'flip':
      if (bytes.length > 0) bytes[at]! ^= 1 << one.bit;
      return bytes;
    case 'keep':
      return bytes.subarray(0, at);
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(one.count)]);
    case 'double':
      return Buffer.concat([bytes.subarray(0, at + one.count), rest]);
    case 'zero':
      rest.subarray(0, one.count).fill(0);
      return bytes;
    case 'insert':
      return Buffer.concat([bytes.subarray(0, at), one.bytes, rest]);
    case 'overwrite':
      one.bytes.copy(bytes, at);
      return bytes;
  }
}

/** Where a stream is cut, as fractions of its length. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.array(fraction, { maxLength: 12 });

export function chunksOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...at.map((place) => Math.floor(place * bytes.length)), bytes.length];
  places.sort((a, b) => a - b);
  const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  return chunks.filter((chunk) => chunk.length > 0);
}
