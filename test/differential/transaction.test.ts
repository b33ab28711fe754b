/**
 * Transactions and watches of two connections, to a whole node and to a stock redis-server: the
 * same sequence gets the same replies, byte for byte.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Protocol } from '../../src/datanode/resp/reply.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { besideRedis, openNode, Pair } from './beside-redis.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';
import { member, words, wordsAndMore } from './words.ts';

/** All of one slot: a transaction is for one partition. */
const key = fc.constantFrom('{t}1', '{t}2', '{t}3');

const command = fc.oneof(
  { weight: 8, arbitrary: words('MULTI') },
  { weight: 8, arbitrary: words('EXEC') },
  { weight: 6, arbitrary: wordsAndMore(['WATCH', key], key, 2) },
  words('UNWATCH'),
  words('DISCARD'),
  { weight: 6, arbitrary: words('SET', key, member) },
  { weight: 3, arbitrary: words('GET', key) },
  words('INCR', key),
  words('APPEND', key, member),
  words('DEL', key),
  words('SETNX', key, member),
  words('RENAME', key, key),
  words('COPY', key, key),
  words('PEXPIRE', key, fc.constantFrom('100000', '-1')),
  words('PERSIST', key),
  words('MGET', key, key),
  words('FLUSHALL'),
  // wrong ones
  words('NOSUCH', key),
  words('GET'),
  words('EXPIRE', key, 'soon'),
  words('MULTI', 'now'),
  words('SET', key, member, 'XX', 'NX'),
  // of the node
  words('PING'),
  words('ECHO', member),
  words('SELECT', '0'),
  words('CLIENT', 'GETNAME'),
);

const step = fc.record({ on: fc.constantFrom(0, 1), words: command });
type Step = { readonly on: number; readonly words: readonly string[] };

/** What is there, and a write by another connection that changes little or nothing of it. */
const touches: readonly (readonly string[])[] = [
  ['SET k a', 'SET k a'],
  ['SET k a', 'SET k b NX'],
  ['SET k a', 'APPEND k '],
  ['SET k a', 'SETRANGE k 0 a'],
  ['SET k a', 'SETRANGE k 0 '],
  ['SET k a', 'PERSIST k'],
  ['SET k a', 'GETEX k'],
  ['SET k a', 'GETEX k EX 100'],
  ['SET k a', 'EXPIRE k 100 XX'],
  ['SET k a', 'RENAME k k'],
  ['SET k a', 'COPY k j'],
  ['SET k a', 'TOUCH k'],
  ['SET k a', 'DEL k', 'SET k a'],
  ['SET k a', 'MSETNX k b j c'],
  ['SET k 1', 'INCRBY k 0'],
  ['SETBIT k 1 1', 'SETBIT k 1 1'],
  ['SETBIT k 1 1', 'BITFIELD k SET u1 1 1'],
  ['SETBIT k 1 1', 'BITFIELD k INCRBY u1 1 0 GET u1 0'],
  ['SETBIT k 1 1', 'BITFIELD k SET u1 80 0'],
  ['SETBIT k 1 1', 'BITFIELD k OVERFLOW FAIL INCRBY u1 1 1'],
  ['RPUSH k a b', 'LTRIM k 0 -1'],
  ['RPUSH k a b', 'LTRIM k 0 9'],
  ['RPUSH k a', 'LMOVE k k LEFT RIGHT'],
  ['RPUSH k a', 'LSET k 0 a'],
  ['RPUSH k a', 'LREM k 0 x'],
  ['RPUSH k a', 'LINSERT k BEFORE x y'],
  ['RPUSH k a', 'LPOP k 0'],
  ['SADD k a', 'SADD k a'],
  ['SADD k a', 'SREM k b'],
  ['SADD k a', 'SMOVE k k a'],
  ['SADD k a', 'SUNIONSTORE k k'],
  ['HSET k f v', 'HSET k f v'],
  ['HSET k f v', 'HSETNX k f w'],
  ['HSET k f 1', 'HINCRBY k f 0'],
  ['HSET k f v', 'HDEL k g'],
  ['ZADD k 1 a', 'ZADD k 1 a'],
  ['ZADD k 1 a', 'ZADD k XX 1 b'],
  ['ZADD k 1 a', 'ZINCRBY k 0 a'],
  ['ZADD k 1 a', 'ZREMRANGEBYRANK k 5 6'],
  ['ZADD k 1 a', 'ZUNIONSTORE k 1 k'],
  ['PFADD k a', 'PFADD k a'],
  ['PFADD k a', 'PFMERGE k k'],
  ['DEL k', 'SET k a', 'DEL k'],
  ['DEL k', 'APPEND k '],
  ['DEL k', 'SETBIT k 0 0'],
  ['DEL k', 'PFADD k'],
  ['DEL k', 'SUNIONSTORE k j'],
];

describe.skipIf(!hasRedis)('transactions as redis-server answers', () => {
  const servers = besideRedis(openNode);

  test('a write that changes nothing breaks the watches that it breaks there', async () => {
    const [watcher, writer] = await Promise.all([2, 2].map(() => Pair.connect(servers, 2)));
    const broken: string[][] = [[], []];
    for (const [setup, ...writes] of touches) {
      const ask = (pair: Pair, line: string) => pair.ask(onOneSlot(line));
      await writer!.ask(['FLUSHALL']);
      await ask(writer!, setup!);
      await ask(watcher!, 'WATCH k');
      for (const line of writes) await ask(writer!, line);
      for (const line of ['MULTI', 'PING']) await watcher!.ask([line]);
      (await watcher!.ask(['EXEC'])).forEach((reply, at) => {
        broken[at]!.push(`${setup}, ${writes.join(', ')}: ${reply.toString()}`);
      });
    }
    for (const pair of [watcher, writer]) pair!.close();
    expect(broken[0]).toEqual(broken[1]);
    expect(new Set(broken[1]!.map((line) => line.slice(line.indexOf(':')))).size).toBe(2);
  });

  test.each([2, 3] as const)(
    'RESP%i',
    async (protocol) => {
      const connect = () => Pair.connect(servers, protocol);
      const pairs = [await connect(), await connect()];
      const name = `transactions, RESP${protocol}`;
      await compareSequences(name, step, scale.transactionCommands / 2, async (steps) => {
        for (const pair of pairs) await begin(pair, protocol);
        return await compareAll(pairs, steps);
      });
      for (const pair of pairs) pair.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});

/** Keys `k` and `j`, of one partition. */
function onOneSlot(line: string): string[] {
  return line.split(' ').map((word) => (word === 'k' || word === 'j' ? `{t}${word}` : word));
}

async function begin(pair: Pair, protocol: Protocol): Promise<void> {
  await pair.ask(['RESET']);
  await pair.ask(['HELLO', String(protocol)]);
  await pair.ask(['FLUSHALL']);
}

async function compareAll(pairs: readonly Pair[], steps: readonly Step[]): Promise<number> {
  const multi = [false, false];
  let compared = 0;
  for (const { on, words: line } of steps) {
    // in a transaction over several partitions it has no place here
    if (line[0] === 'FLUSHALL' && multi[on]) continue;
    if (line[0] === 'MULTI' && line.length === 1) multi[on] = true;
    if (line[0] === 'EXEC' || line[0] === 'DISCARD') multi[on] = false;
    const [ours, theirs] = await pairs[on]!.ask(line);
    expect(ours.toString('latin1'), `${on}: ${line.join(' ')}`).toBe(theirs.toString('latin1'));
    compared++;
  }
  return compared;
}
