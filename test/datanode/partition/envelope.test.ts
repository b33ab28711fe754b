import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeEnvelope,
  type Envelope,
  encodeEnvelope,
  envelopeTimeMs,
} from '../../../src/datanode/partition/envelope.ts';

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const envelopes: fc.Arbitrary<Envelope> = fc.record({
  timeMs: time,
  seed: fc.integer({ min: 0, max: 0xffff_ffff }),
  body: fc.oneof(
    fc.record({
      family: fc.constant('redis' as const),
      lines: fc.array(fc.array(bytes, { minLength: 1, maxLength: 5 }), { maxLength: 8 }),
    }),
    fc.record({
      family: fc.constant('internal' as const),
      operation: fc.constant('time' as const),
    }),
    fc.record({
      family: fc.constant('internal' as const),
      operation: fc.constant('expire' as const),
      keys: fc.array(fc.record({ key: bytes, deadlineMs: time }), { maxLength: 8 }),
    }),
  ),
});

describe('log entries', () => {
  test('decode to what was encoded, and tell their time alone', () => {
    fc.assert(
      fc.property(envelopes, (envelope) => {
        const data = encodeEnvelope(envelope);
        expect(decodeEnvelope(data)).toEqual(envelope);
        expect(envelopeTimeMs(data)).toBe(envelope.timeMs);
      }),
    );
  });

  test('have these bytes for ever', () => {
    const lines = [[Buffer.from('SET'), Buffer.from('k'), Buffer.from('v')]];
    const data = encodeEnvelope({ timeMs: 0x0102, seed: 7, body: { family: 'redis', lines } });
    expect(data.toString('hex')).toBe(
      `${'01010001'}${'0000000000000102'}${'00000007'}${'00000001'}${'00'}${'00000003'}` +
        `${'00000003534554'}${'000000016b'}${'0000000176'}`,
    );
  });

  test('of a newer version, or cut, are refused with the remedy', () => {
    const data = encodeEnvelope({
      timeMs: 1,
      seed: 1,
      body: { family: 'redis', lines: [[Buffer.from('PING')]] },
    });
    const newer = Buffer.from(data);
    newer[0] = 9;
    expect(() => decodeEnvelope(newer)).toThrow(/upgrade kvorum/);
    for (let length = 0; length < data.length; length++) {
      expect(() => decodeEnvelope(data.subarray(0, length))).toThrow(/does not decode/);
    }
    expect(() => decodeEnvelope(Buffer.concat([data, Buffer.from([0])]))).toThrow(
      /unexpected bytes/,
    );
  });
});
