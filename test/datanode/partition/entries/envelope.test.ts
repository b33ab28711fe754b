import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allocateWithRoom } from '../../../../src/common/bytes-with-room.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import {
  decodeEnvelope,
  decodeEnvelopeInSteps,
  type Envelope,
  encodeEnvelope,
  envelopeTimeMs,
} from '../../../../src/datanode/partition/entries/envelope.ts';

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 4 });
const line = fc.array(bytes, { minLength: 1, maxLength: 5 });
const waiting = fc.record({
  ready: some(bytes),
  waiters: some(
    fc.record({
      id: bytes,
      line,
      protocol: fc.constantFrom(2 as const, 3 as const),
      asked: fc.boolean(),
    }),
  ),
  confirmed: some(bytes),
});

const envelopes: fc.Arbitrary<Envelope> = fc.record({
  timeMs: time,
  seed: fc.integer({ min: 0, max: 0xffff_ffff }),
  body: fc.oneof(
    fc.record(
      { family: fc.constant('redis' as const), lines: fc.array(line, { maxLength: 8 }), waiting },
      { requiredKeys: ['family', 'lines'] },
    ),
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

  test('are made around a large argument that has room, and as they always were', () => {
    const small = Buffer.from('small');
    const others = fc.record({ before: some(bytes), behind: some(bytes), lines: some(line) });
    fc.assert(
      fc.property(others, fc.option(waiting), ({ before, behind, lines }, part) => {
        const large = allocateWithRoom(300_000).fill('large');
        const around = (argument: Buffer, timeMs: number): Envelope => {
          const all = [...lines, [small, ...before, argument, ...behind], ...lines];
          const body = { family: 'redis', lines: all, ...(part && { waiting: part }) } as const;
          return { timeMs, seed: 7, body };
        };
        const copied = encodeEnvelope(around(Buffer.from(large), 5));
        const made = encodeEnvelope(around(large, 5));
        expect(made.equals(copied)).toBe(true);
        expect(made.buffer).toBe(large.buffer);
        // once it is an entry's, another entry must not change it
        const again = encodeEnvelope(around(large, 6));
        expect(again.buffer).not.toBe(large.buffer);
        expect(made.equals(copied)).toBe(true);
        expect(again.equals(encodeEnvelope(around(Buffer.from(large), 6)))).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test('copy a large argument where there is more than its room takes, and larger ones beside it', () => {
    const [large, other] = [allocateWithRoom(300_000).fill(1), allocateWithRoom(300_000).fill(2)];
    const of = (line: Buffer[]): Envelope => ({
      ...{ timeMs: 5, seed: 7, body: { family: 'redis', lines: [line] } },
    });
    for (const line of [
      [Buffer.alloc(1_000), large],
      [large, Buffer.alloc(1_100)],
      [large, Buffer.alloc(3_000)],
      [large, other],
      [large, large],
      [large.subarray(1)],
    ]) {
      const entry = encodeEnvelope(of(line));
      expect(entry.buffer).not.toBe(large.buffer);
      expect(entry.equals(encodeEnvelope(of(line.map((bytes) => Buffer.from(bytes)))))).toBe(true);
    }
    expect(encodeEnvelope(of([large])).buffer).toBe(large.buffer);
  });

  test('with waiters are of the second apply version', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const id = Buffer.from('id');
    const waiter = { id, line: words('BLPOP k 0'), protocol: 3, asked: true } as const;
    const part = { ready: words('k'), waiters: [waiter], confirmed: words('c') };
    const body = { family: 'redis', lines: [], waiting: part } as const;
    expect(encodeEnvelope({ timeMs: 1, seed: 7, body }).toString('hex')).toBe(
      `${'01010002'}${'0000000000000001'}${'00000007'}${'00000000'}` +
        `${'00000001'}${'000000016b'}` +
        `${'00000001'}${'03'}${'000000026964'}${'00000003'}` +
        `${'00000005424c504f50'}${'000000016b'}${'0000000130'}` +
        `${'00000001'}${'0000000163'}`,
    );
  });

  test('with waiters of groups of streams are of the seventh', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const waiter = (text: string) =>
      ({ id: Buffer.from('id'), line: words(text), protocol: 2, asked: false }) as const;
    const entryOf = (...texts: string[]) => {
      const waiting = { ready: [], waiters: texts.map(waiter), confirmed: [] };
      const body = { family: 'redis', lines: [words('SET a 1')], waiting } as const;
      return { body, data: encodeEnvelope({ timeMs: 1, seed: 7, body }) };
    };
    expect(entryOf('BLPOP k 0').data.readUInt16BE(2)).toBe(2);
    const { body, data } = entryOf('BLPOP k 0', 'XREADGROUP GROUP g c BLOCK 0 STREAMS k >');
    expect(data.readUInt16BE(2)).toBe(7);
    expect(decodeEnvelope(data).body).toEqual({ ...body, applyVersion: 7 });
  });

  test('with dumps that may have deadlines of fields are of the fourth', () => {
    const payload = (version: number) => Buffer.from([0, 0, version, ...Buffer.alloc(9)]);
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const restore = (version: number) => [...words('Restore k 0'), payload(version)];
    const session = words('KV.ONCE session-1 1 1');
    const versionOf = (...lines: Buffer[][]) => {
      const data = encodeEnvelope({ timeMs: 1, seed: 7, body: { family: 'redis', lines } });
      const { body } = decodeEnvelope(data);
      const known = data.readUInt16BE(2) === 4 ? { applyVersion: 4 } : {};
      expect(body).toEqual({ family: 'redis', lines, ...known });
      return data.readUInt16BE(2);
    };
    const exec = (...lines: Buffer[][]) => [...encodeExec([words('SET a 1'), ...lines])];
    expect(versionOf(words('SET dump restore'), words('RESTORE k 0'), restore(11))).toBe(1);
    expect(versionOf(exec(words('SET dump restore'), restore(9)))).toBe(1);
    expect(versionOf(words('SET k v'), restore(12))).toBe(4);
    expect(versionOf(exec(restore(12)))).toBe(4);
    expect(versionOf(exec(words('DUMP k')))).toBe(4);
    expect(versionOf([...session, ...restore(12)])).toBe(4);
    expect(versionOf([...session, ...restore(11)])).toBe(1);
    expect(versionOf([...session, ...exec(restore(12))])).toBe(4);
    expect(versionOf([...session, ...words('DUMP k')])).toBe(4);
  });

  test('with scripts are of the sixth', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const versionOf = (...lines: Buffer[][]) =>
      encodeEnvelope({ timeMs: 1, seed: 7, body: { family: 'redis', lines } }).readUInt16BE(2);
    for (const text of [
      ...['EVAL x 0', 'evalsha x 1 k', 'EVAL_RO x 0', 'EvalSha_Ro x 0'],
      ...['SCRIPT LOAD x', 'script flush'],
    ]) {
      expect(versionOf(words('SET a 1'), words(text)), text).toBe(6);
      expect(versionOf([...encodeExec(['SET a 1', text].map(words))]), text).toBe(6);
      expect(versionOf([...words('KV.ONCE session-1 1 1'), ...words(text)]), text).toBe(6);
    }
  });

  test('with what has changed are of the highest that all know, and are never held back for that', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const body = (...lines: Buffer[][]) => ({ family: 'redis' as const, lines });
    const version = (of: Envelope['body'], known?: number) => {
      const knownToAll = known === undefined ? undefined : () => known;
      return encodeEnvelope({ timeMs: 1, seed: 7, body: of }, knownToAll).readUInt16BE(2);
    };
    for (const text of ['XSETID s 1-1', 'xreadgroup GROUP g c STREAMS s >']) {
      const both = body(words('SET a 1'), words(text));
      expect([version(both), version(both, 7), version(both, 9)], text).toEqual([7, 7, 9]);
      const exec = body([...encodeExec([words('SET a 1'), words(text)])]);
      expect([version(exec), version(exec, 8), version(exec, 9)], text).toEqual([7, 8, 9]);
    }
    const waiter = { id: Buffer.from('1'), protocol: 2 as const, asked: false };
    const line = words('XREADGROUP GROUP g c BLOCK 0 STREAMS s >');
    const waiting = { ready: [], confirmed: [], waiters: [{ ...waiter, line }] };
    expect(version({ ...body(words('XADD s * f v')), waiting }, 9)).toBe(9);
    expect(version(body(words('XADD s * f v')), 9)).toBe(7);
    const reads = ['XREAD STREAMS s +', 'XREAD COUNT 1 STREAMS s + 1 +', 'XREAD STREAMS + 1'];
    const versions = reads.map((text) => version(body([...encodeExec([words(text)])]), 9));
    expect(versions).toEqual([9, 9, 1]);
  });

  test('with what is newer than Redis 7.4 are of the fifth', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const versionOf = (...lines: Buffer[][]) => {
      const data = encodeEnvelope({ timeMs: 1, seed: 7, body: { family: 'redis', lines } });
      expect(decodeEnvelope(data).body).toMatchObject({ lines });
      return data.readUInt16BE(2);
    };
    const exec = (...texts: string[]) => [...encodeExec(texts.map(words))];
    for (const text of [
      ...['HSETEX h FIELDS 1 a 1', 'hgetex h FIELDS 1 a', 'HGETDEL h FIELDS 1 a'],
      ...['SET k v IFEQ w', 'Set k v EX 10 ifdne 0', 'SET k v GET IFNE w', 'DELEX k'],
      'RESTORE-ASKING k 0 x',
    ]) {
      expect(versionOf(words('SET a 1'), words(text)), text).toBe(5);
      expect(versionOf(exec('SET a 1', text)), text).toBe(5);
      expect(versionOf([...words('KV.ONCE session-1 1 1'), ...words(text)]), text).toBe(5);
    }
    expect(versionOf(exec('SET a 1', 'DIGEST a'))).toBe(5);
    for (const text of [
      'SET k ifeq',
      'SET ifeq ifeq EX 10',
      'SETNX k ifeq',
      'HSET h FIELDS ifeq',
    ]) {
      expect(versionOf(words(text)), text).toBe(1);
      expect(versionOf(exec(text)), text).toBe(1);
    }
  });

  test('with what is newer than Redis 8.0 are of the tenth', () => {
    const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
    const versionOf = (...lines: Buffer[][]) => {
      const data = encodeEnvelope({ timeMs: 1, seed: 7, body: { family: 'redis', lines } });
      expect(decodeEnvelope(data).body).toMatchObject({ lines });
      return data.readUInt16BE(2);
    };
    for (const text of [
      ...['MSETEX 1 a 1', 'msetex 2 a 1 b 2 NX', 'XDELEX s IDS 1 1', 'xackdel s g ACKED IDS 1 1'],
      ...['BITOP DIFF to a b', 'bitop diff1 to a b', 'BITOP ANDOR to a b', 'bitop One to a'],
    ]) {
      expect(versionOf(words('SET a 1'), words(text)), text).toBe(10);
      expect(versionOf([...encodeExec([words('SET a 1'), words(text)])]), text).toBe(10);
    }
    for (const [text, version] of [
      ...[['XADD s ACKED MAXLEN 1 1-1 f v', 10] as const, ['XADD s * acked v', 7] as const],
      ...[['xadd s NOMKSTREAM maxlen = 1 limit 9 keepref * f v', 10] as const],
      ...[
        ['XADD s MAXLEN ~ 5 1-1 ACKED delref', 7] as const,
        ['XADD s MINID acked * f v', 7] as const,
      ],
      ...[['XTRIM s MAXLEN ~ 5 LIMIT 9 DELREF', 10] as const, ['XTRIM s MAXLEN 5', 7] as const],
    ] as const) {
      expect(versionOf(words(text)), text).toBe(version);
    }
    for (const text of ['BITOP AND diff one', 'bitop not to a', 'MSET a 1', 'BITOP DIFF2 to a']) {
      expect(versionOf(words(text)), text).toBe(1);
    }
  });

  test('of a newer version, or cut, are refused with the remedy', () => {
    const data = encodeEnvelope({
      timeMs: 1,
      seed: 1,
      body: { family: 'redis', lines: [[Buffer.from('PING')]] },
    });
    const newer = Buffer.from(data);
    newer[0] = 9;
    expect(() => decodeEnvelope(newer)).toThrow(
      expect.objectContaining({
        code: 'TOO_NEW',
        message: expect.stringMatching(/upgrade kvorum/),
      }),
    );
    for (let length = 0; length < data.length; length++) {
      expect(() => decodeEnvelope(data.subarray(0, length))).toThrow(/does not decode/);
    }
    expect(() => decodeEnvelope(Buffer.concat([data, Buffer.from([0])]))).toThrow(
      /unexpected bytes/,
    );
  });

  test('of thousands of arguments are read in steps, to the same', async () => {
    let pauses = 0;
    const pace = { isDue: () => true, pause: async () => void pauses++ };
    const line = Array.from({ length: 5_000 }, (_, at) => Buffer.from(`word ${at}`));
    const id = Buffer.from('id');
    const once = [{ first: 1, count: 1, id, sequence: 3, low: 2 }];
    const bodies: Envelope['body'][] = [
      { family: 'redis', lines: [line, [Buffer.from('PING')], line] },
      { family: 'redis', lines: [line, line], once },
      { family: 'internal', operation: 'time' },
    ];
    for (const body of bodies) {
      const data = encodeEnvelope({ timeMs: 1, seed: 1, body });
      const read = await decodeEnvelopeInSteps(data, pace);
      expect(encodeEnvelope(read).equals(data)).toBe(true);
      const cut = data.subarray(0, data.length - 1);
      await expect(decodeEnvelopeInSteps(cut, pace)).rejects.toThrow(/does not decode/);
      const more = Buffer.concat([data, Buffer.from([0])]);
      await expect(decodeEnvelopeInSteps(more, pace)).rejects.toThrow(/does not decode/);
    }
    expect(pauses).toBeGreaterThan(30);
  });
});
