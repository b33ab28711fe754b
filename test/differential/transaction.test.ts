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

describe.skipIf(!hasRedis)('transactions as redis-server answers', () => {
  const servers = besideRedis(openNode);

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
