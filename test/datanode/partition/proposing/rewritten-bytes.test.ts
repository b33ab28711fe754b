/** Lines of few bytes that put stored values again: how they are packed into entries, and refused. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { CommandLine } from '../../../../src/datanode/partition/entries/batch.ts';
import { Proposals } from '../../../../src/datanode/partition/proposing/proposals.ts';
import {
  mayRewrite,
  rewritingOf,
} from '../../../../src/datanode/partition/proposing/rewritten-bytes.ts';
import { OK } from '../../../../src/datanode/resp/reply.ts';
import { Trio } from '../trio.ts';

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const many = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(text(at)));
const large = limits.valueBytesMax;
const keysOfExec = limits.execGrowthBytesMax / large;

/** Proposals at an engine in which values have these bytes, and what was looked at. */
function setup(stored: (key: string) => number) {
  const looked: string[] = [];
  const proposals = new Proposals((key) => {
    looked.push(String(key));
    return stored(String(key));
  });
  const batch = { namespace: 'default', partition: 0, kind: 'write', protocol: 2 } as const;
  let index = 1;
  return {
    looked,
    proposals,
    gather: (lines: readonly CommandLine[], once?: string) =>
      proposals.gather({
        ...{ ...batch, lines, term: undefined, deadlineMs: 1_000 },
        ...(once && { once: { id: Buffer.from(once), sequence: 1, low: 1 } }),
      }),
    /** Lines of each entry that leaves. */
    flush: () => {
      const sizes: number[] = [];
      proposals.flush(
        0,
        (lines) => Buffer.from([sizes.push(lines.length)]),
        (data) => {
          const first = index;
          index += data.length;
          return { ok: true, term: 1, index: first };
        },
      );
      return sizes;
    },
    settle: (at: number, lines: number) => proposals.settle(at, 1, Array(lines).fill(OK)),
  };
}

test.each([
  ['EXPIRE k 1', 'k', 'k', 0],
  ['pexpireat k 1', 'k', 'k', 0],
  ['PExpire k 1', 'k', 'k', 0],
  ['EXPIREAT k 1', 'k', 'k', 0],
  ['PERSIST k', 'k', 'k', 0],
  ['GETEX k PERSIST', 'k', 'k', 0],
  ['APPEND k x', 'k', 'k', 0],
  ['SETRANGE k 100 x', 'k', 'k', 100],
  ['SETBIT k 8000 1', 'k', 'k', 1_000],
  ['BITFIELD k SET u8 #1000 7', 'k', 'k', 8_000],
  ['COPY a b REPLACE', 'a', 'b', 0],
  ['RENAME a b', 'a', 'b', 0],
  ['RENAMENX a b', 'a', 'b', 0],
  ['BITOP OR d a b c', 'a b c', 'd', 0],
  ['ZAN.EXPIRE kv k 10', 'k', 'k', 0],
  ['zan.persist kv k', 'k', 'k', 0],
])('%s puts what is stored under %s at %s', (text, from, to, least) => {
  const found = rewritingOf(line(text));
  expect(found?.from.join(' ')).toBe(from);
  expect([String(found?.to), found?.least]).toEqual([to, least]);
});

test('what is asked for most is told apart by its name’s length and first letter', () => {
  const names =
    'SET GET DEL INCR DECR INCRBY HSET HINCRBY ZADD ZINCRBY LPUSH RPUSH SADD MSET SETEX';
  for (const name of names.split(' ')) expect(mayRewrite(Buffer.from(name))).toBe(false);
  for (const text of ['GETEX k', 'COPY a', 'EXPIRE', 'BITOP NOT', 'ELEVEN k', 'é k']) {
    expect(rewritingOf(line(text))).toBeUndefined();
  }
});

test('lines that put large values again have entries of their own', () => {
  const { gather, flush } = setup(() => large);
  void gather(many(6, (at) => `EXPIRE k${at} 100`));
  expect(flush()).toEqual([1, 1, 1, 1, 1, 1]);
});

test('as many share one as an entry has room for', () => {
  const { gather, flush } = setup(() => limits.entryBytesMax / 4 - 1_024);
  void gather(many(8, (at) => `PERSIST k${at}`));
  expect(flush()).toEqual([4, 4]);
});

test('small values and collections count for nothing', () => {
  const { gather, flush } = setup(() => limits.rewrittenSmallBytes - 1);
  void gather(many(5_000, (at) => `EXPIRE k${at} 100`));
  expect(flush()).toEqual([5_000]);
});

test('a value that is put anyhow costs nothing more, and keeps nobody else from its entry', () => {
  const { gather, flush, looked } = setup((key) => (key === 'log' ? large : 0));
  void gather(many(512, (at) => (at % 2 === 0 ? 'APPEND log x' : `SET k${at} x`)));
  expect(flush()).toEqual([512]);
  expect(looked).toEqual(['log']);
});

test('what is copied is as long as what it is a copy of, each time', () => {
  const { gather, flush, looked } = setup((key) => (key === 'a' ? large : 0));
  void gather([line('COPY a b'), line('COPY b c'), line('RENAME c d'), line('BITOP OR e x d y')]);
  expect(flush()).toEqual([1, 1, 1, 1]);
  expect(looked).toEqual(['a', 'x', 'y']);
});

test('what entries on their way make of keys is known until they are applied', () => {
  const { gather, flush, settle } = setup(() => 0);
  const expire = () => void gather(many(3, (at) => `EXPIRE k${at} 100`));
  void gather(many(3, (at) => `SETRANGE k${at} 16777215 x`));
  expect(flush()).toEqual([1, 1, 1]);
  expire();
  expect(flush()).toEqual([1, 1, 1]);
  for (const index of [1, 2, 3]) settle(index, 1);
  expire();
  expect(flush()).toEqual([1, 1, 1]);
  for (let index = 4; index <= 9; index++) settle(index, 1);
  // now the engine is asked, which has others by then
  expire();
  expect(flush()).toEqual([3]);
});

test('who comes when values enough were looked at waits for the next turn', () => {
  const perTurn = limits.rewrittenLooksBytes / large;
  const { proposals, gather, flush, looked } = setup(() => large);
  for (let at = 0; at < perTurn + 1; at++) void gather(many(1, () => `EXPIRE k${at} 100`));
  void gather([line('SET k x')]);
  expect(flush()).toHaveLength(perTurn);
  expect(looked).toHaveLength(perTurn);
  expect([proposals.gathered, proposals.count]).toEqual([2, perTurn + 2]);
  expect(flush()).toEqual([2]);
  expect(proposals.hasGathered).toBe(false);
});

test('the rest of a batch is taken for large values then, which nobody believes afterwards', () => {
  const perTurn = limits.rewrittenLooksBytes / (limits.entryBytesMax / 4);
  const { gather, flush, looked, settle } = setup(() => limits.entryBytesMax / 4 - 1_024);
  void gather(many(perTurn + 3, (at) => `EXPIRE k${at} 100`));
  const sizes = flush();
  expect(sizes.slice(-4)).toEqual([4, 1, 1, 1]);
  sizes.forEach((lines, at) => void settle(at + 1, lines));
  looked.length = 0;
  void gather(many(3, (at) => `EXPIRE k${perTurn + at} 100`));
  expect(flush()).toEqual([3]);
  expect(looked).toHaveLength(3);
});

test('a transaction weighs what all of its commands put', () => {
  const { gather, flush } = setup((key) => (key.startsWith('k') ? large : 10));
  const exec = (text: (at: number) => string) => gather([encodeExec(many(4, text))]);
  void exec((at) => `EXPIRE small${at} 100`);
  void exec((at) => `SET k${at} x`);
  void exec((at) => (at === 0 ? 'EXPIRE k1 100' : `INCR n${at}`));
  void exec((at) => (at === 0 ? 'EXPIRE k2 100' : `INCR n${at}`));
  expect(flush()).toEqual([2, 1, 1]);
});

test('one that puts more than the bound is refused, and nothing else with it', async () => {
  const { gather, flush, settle, looked } = setup(() => large);
  const exec = (keys: number) => encodeExec(many(keys, (at) => `EXPIRE k${at % keys} 100`));
  const refused = gather([exec(keysOfExec + 1)]);
  expect(flush()).toEqual([]);
  expect(await refused).toEqual([
    {
      ok: false,
      code: 'TOO_LARGE',
      message: expect.stringMatching(/268435456 bytes .*nothing happened: send them in several/),
    },
  ]);
  expect(looked).toHaveLength(keysOfExec + 1);
  const taken = gather([exec(keysOfExec)]);
  expect(flush()).toEqual([1]);
  settle(1, 1);
  expect(await taken).toEqual([{ ok: true, reply: OK }]);
});

test('one key counts once in it, however often it is put', () => {
  const { gather, flush } = setup(() => large);
  void gather([encodeExec(many(1_000, (at) => `APPEND k${at % 3} x`))]);
  expect(flush()).toEqual([1]);
});

test('under a session none is refused: it may have taken effect before', () => {
  const { gather, flush } = setup(() => large);
  const exec = encodeExec(many(2 * keysOfExec, (at) => `EXPIRE k${at} 100`));
  void gather([exec], 'session-1');
  void gather([[...line('KV.ONCE session-2 1 1'), ...exec]]);
  void gather([line('SET a b')]);
  // each looks at values enough for a turn
  expect([flush(), flush(), flush()]).toEqual([[1], [1], [1]]);
});

test('a line that is no command, or an EXEC that nobody made, is left to who applies it', () => {
  const { gather, flush } = setup(() => large);
  void gather([line('EXEC'), line('KV.ONCE id 1 1'), line('KV.ONCE'), line('EXEC a 0 broken')]);
  void gather([[Buffer.alloc(0)], line('EXPIRE'), line('BITOP OR d')]);
  expect(flush()).toEqual([7]);
});

describe('a group of three', () => {
  let trio: Trio;

  beforeEach(async () => {
    // a busy machine is to elect nobody else
    trio = new Trio({ tickMs: 50 });
    for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  });

  afterEach(async () => {
    await trio.destroy();
    expect(trio.faults).toEqual([]);
  });

  test('asks its engine how much is put again', async () => {
    const bytes = 0.75 * limits.entryBytesMax;
    const keys = ['k0', 'k1', 'k2', 'k3'];
    const pads = keys.map((key) => `SETRANGE ${key} ${bytes - 1} x`);
    expect(await trio.run('write', ...pads)).toEqual(pads.map(() => `:${bytes}`));
    const { appliedIndex } = await trio.leader();
    const expires = keys.map((key) => `EXPIREAT ${key} 4000000000`);
    expect(await trio.run('write', ...expires)).toEqual([':1', ':1', ':1', ':1']);
    const entries = (await trio.leader()).appliedIndex - appliedIndex;
    expect(entries).toBeGreaterThanOrEqual(keys.length);
  });
});
