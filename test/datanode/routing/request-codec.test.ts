import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ErrorCode, errorTable, KvorumError } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import type { CommandBatch, LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import { bulk, OK } from '../../../src/datanode/resp/reply.ts';
import {
  decodeBatch,
  decodeResults,
  encodeBatch,
  encodeResults,
} from '../../../src/datanode/routing/request-codec.ts';

const bytes = fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each));
const batch = fc.record({
  namespace: fc.constantFrom('default', 'ünder'),
  partition: fc.nat(1_000),
  kind: fc.constantFrom('read' as const, 'write' as const),
  lines: fc.array(fc.array(bytes, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
  protocol: fc.constantFrom(2 as const, 3 as const),
  term: fc.integer({ min: 1, max: 2 ** 50 }),
  group: fc.integer({ min: 1, max: 2 ** 50 }),
});

test('a batch that names no group, or comes from a build that knew none, is for any', () => {
  const lines = [[Buffer.from('GET'), Buffer.from('k')]];
  const each = { namespace: 'n', partition: 3, kind: 'read', lines, protocol: 2, term: 9 } as const;
  const sent: CommandBatch = { ...each, deadlineMs: 0 };
  expect(decodeBatch(encodeBatch(sent, 0), 0)).toEqual(sent);
  const hex = encodeBatch(sent, 0).toString('hex');
  const [start, group] = ['02000000016e00000003', '0000000000000000'];
  expect(hex.startsWith(start + group)).toBe(true);
  const older = `01${start.slice(2)}${hex.slice(start.length + group.length)}`;
  expect(decodeBatch(Buffer.from(older, 'hex'), 0)).toEqual(sent);
});

test('a forwarded batch arrives as it was sent, its deadline on the new clock', () => {
  fc.assert(
    fc.property(batch, fc.nat(10_000), (each, leftMs) => {
      const sent: CommandBatch = { ...each, deadlineMs: 0 };
      expect(decodeBatch(encodeBatch(sent, leftMs), 5_000)).toEqual({
        ...sent,
        deadlineMs: 5_000 + leftMs,
      });
    }),
  );
});

test('who wants to know where commands are is told, in a version of its own', () => {
  const lines = [[Buffer.from('GET'), Buffer.from('k')]];
  const each = {
    namespace: 'n',
    partition: 3,
    kind: 'write',
    lines,
    protocol: 2,
    term: 9,
  } as const;
  const once = { id: Buffer.from('session'), sequence: 4, low: 2 };
  for (const sent of [
    { ...each, witness: true, deadlineMs: 0 },
    { ...each, once, witness: true, deadlineMs: 0 },
  ]) {
    expect(encodeBatch(sent, 0)[0]).toBe(4);
    expect(decodeBatch(encodeBatch(sent, 0), 0)).toEqual(sent);
  }
  const unlike = Buffer.from(encodeBatch({ ...each, witness: true, deadlineMs: 0 }, 0));
  unlike[32] = 7;
  expect(() => decodeBatch(unlike, 0)).toThrow(/a flag of 7/);
  const write = { term: 3, index: 9, upTo: 9, at: 2 };
  const read = { term: 3, index: 9, upTo: 11, at: -1 };
  const results: LineResult[] = [write, read].map((witness) => ({ ok: true, reply: OK, witness }));
  const told = decodeResults(encodeResults([...results, { ok: true, reply: OK }], 2), 3);
  expect(told.map((one) => one.ok && one.witness)).toEqual([write, read, undefined]);
});

test('reads that a replica vouches for name it, in a version of its own', () => {
  const lines = [[Buffer.from('GET'), Buffer.from('k')]];
  const each = { namespace: 'n', partition: 3, lines, protocol: 2, term: 9 } as const;
  const read = { ...each, kind: 'read', vouchedBy: 2 ** 40, deadlineMs: 0 } as const;
  const bytes = encodeBatch(read, 0);
  expect(bytes[0]).toBe(5);
  expect(decodeBatch(bytes, 0)).toEqual(read);
  expect(encodeBatch({ ...read, kind: 'write' }, 0)[0]).toBe(2);
  const write = Buffer.from(bytes);
  write[1 + 4 + 1 + 4 + 8] = 1;
  expect(() => decodeBatch(write, 0)).toThrow(/no read is vouched for/);
});

test('results arrive as they were given', () => {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const result = fc.oneof(
    bytes.map((each): LineResult => ({ ok: true, reply: bulk(each) })),
    fc.constantFrom(...codes).map((code): LineResult => ({ ok: false, code, message: 'why' })),
  );
  fc.assert(
    fc.property(fc.array(result, { maxLength: 6 }), (results) => {
      const decoded = decodeResults(encodeResults(results, 2), results.length);
      for (const [at, each] of decoded.entries()) {
        const given = results[at]!;
        if (!given.ok) expect(each).toEqual(given);
        else expect(each).toMatchObject({ ok: true, reply: { kind: 'encoded' } });
      }
    }),
  );
});

test('damaged bytes are refused, never misread as something else', () => {
  const whole = encodeBatch(
    {
      namespace: 'default',
      partition: 1,
      kind: 'write',
      lines: [[Buffer.from('SET'), Buffer.from('a'), Buffer.from('1')]],
      protocol: 2,
      term: 3,
      deadlineMs: 0,
    },
    100,
  );
  for (let end = 0; end < whole.length; end++) {
    expect(() => decodeBatch(whole.subarray(0, end), 0)).toThrow(KvorumError);
  }
  expect(() => decodeBatch(Buffer.concat([whole, Buffer.from([0])]), 0)).toThrow(
    /BAD_FRAME|forwarded/,
  );
  const newer = Buffer.from(whole);
  newer[0] = 9;
  expect(() => decodeBatch(newer, 0)).toThrow(/unknown version 9/);
  expect(() => decodeResults(encodeResults([], 2), 1)).toThrow(/0 results for 1 commands/);
});

test('replies that do not fit a frame together are errors of their own', () => {
  const large: LineResult = {
    ok: true,
    reply: { kind: 'bulk', bytes: Buffer.alloc(50 * 1_048_576) },
  };
  const encoded = encodeResults([large, large, large, { ok: true, reply: OK }], 2);
  expect(encoded.length).toBeLessThan(limits.frameBytesMax);
  const replies = decodeResults(encoded, 4).map((one) => (one.ok ? one.reply : undefined));
  const texts = replies.map((reply) =>
    reply?.kind === 'encoded' ? reply.bytes.toString('latin1', 0, 40) : '',
  );
  expect(texts[0]).toMatch(/^\$52428800/);
  expect(texts[1]).toMatch(/^\$52428800/);
  expect(texts[2]).toMatch(/^-DONE the command was carried/);
  expect(texts[3]).toBe('+OK\r\n');
});
