import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import { subscriptionKinds } from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import {
  decodePeerBody,
  encodePeerBody,
  type PeerBody,
} from '../../../src/datanode/pubsub/peer-codec.ts';

const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const anyBody: fc.Arbitrary<PeerBody> = fc.oneof(
  fc.record({
    type: fc.constant('counts' as const),
    anew: fc.boolean(),
    version: fc.maxSafeNat(),
    counts: fc.array(
      fc.record({
        kind: fc.constantFrom(...subscriptionKinds),
        name: anyBytes,
        count: fc.maxSafeNat(),
      }),
    ),
  }),
  fc.record({
    type: fc.constant('message' as const),
    kind: fc.constantFrom('channel' as const, 'shard' as const),
    channel: anyBytes,
    payload: anyBytes,
  }),
  fc.record({ type: fc.constant('seen' as const), version: fc.maxSafeNat() }),
);

test('the format is frozen: vectors', () => {
  const vectors: readonly (readonly [PeerBody, string])[] = [
    [
      {
        type: 'counts',
        anew: true,
        version: 300,
        counts: [
          { kind: 'channel', name: Buffer.from('news'), count: 2 },
          { kind: 'pattern', name: Buffer.from('n*'), count: 1 },
          { kind: 'shard', name: Buffer.from(''), count: 0 },
        ],
      },
      '0101ac02' + '00046e65777302' + '01026e2a01' + '020000',
    ],
    [
      {
        type: 'message',
        kind: 'shard',
        channel: Buffer.from('a'),
        payload: Buffer.from('hi'),
      },
      '020201616869',
    ],
    [{ type: 'seen', version: 5 }, '0305'],
  ];
  for (const [body, hex] of vectors) {
    expect(encodePeerBody(body).toString('hex')).toBe(hex);
    expect(decodePeerBody(Buffer.from(hex, 'hex'))).toEqual(body);
  }
});

test('whatever is encoded comes back', () => {
  fc.assert(
    fc.property(anyBody, (body) => {
      expect(decodePeerBody(encodePeerBody(body))).toEqual(body);
    }),
  );
});

test('other bytes are refused as a bad frame, or taken as what they spell', () => {
  const bent = fc.tuple(anyBody, fc.nat(), fc.nat(255), fc.nat()).map(([body, at, byte, end]) => {
    const bytes = Buffer.from(encodePeerBody(body));
    bytes[at % bytes.length] = byte;
    return bytes.subarray(0, end % (bytes.length + 1));
  });
  fc.assert(
    fc.property(fc.oneof(anyBytes, bent), (bytes) => {
      let body: PeerBody;
      try {
        body = decodePeerBody(bytes);
      } catch (failure) {
        expect(codeOf(failure)).toBe('BAD_FRAME');
        return;
      }
      expect(decodePeerBody(encodePeerBody(body))).toEqual(body);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['04', /type 4/],
  ['020101', /not a pattern/],
  ['010300', /flag 3/],
  ['01000003', /kind 3/],
  ['030500', /after the last field/],
])('%s is refused', (hex, text) => {
  expect(() => decodePeerBody(Buffer.from(hex, 'hex'))).toThrow(text);
});
