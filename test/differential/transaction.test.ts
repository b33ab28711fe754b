/**
 * Transactions and watches of two connections, to a whole node and to a stock redis-server: the
 * same sequence gets the same replies, byte for byte.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Protocol } from '../../src/datanode/resp/reply.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { LoneNode } from '../storage/lone-node.ts';
import { Oracle } from './oracle.ts';
import { member, words, wordsAndMore } from './words.ts';

const seed = Number(process.env['KVORUM_FUZZ_SEED'] ?? 1);
const STEPS_MAX = 40;
const STEPS_MEAN = 20;

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
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-transactions-'));
  const node = new LoneNode(dir);
  let redis: RealRedis;

  beforeAll(async () => {
    redis = await RealRedis.start();
    node.startDriver();
    await node.start();
  }, 60_000);

  afterAll(async () => {
    await redis?.stop();
    await node.stop();
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  test.each([2, 3] as const)(
    'RESP%i',
    async (protocol) => {
      const both = (to: string | number) =>
        Promise.all([Oracle.connect(to, protocol), Oracle.connect(to, protocol)]);
      const theirs = await both(redis.path);
      const ours = await both(node.datanode.ports.gateway);
      let commands = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: STEPS_MAX, size: 'max' }),
          async (steps) => {
            for (const one of [...theirs, ...ours]) await begin(one, protocol);
            commands += await compareAll(ours, theirs, steps);
          },
        ),
        { numRuns: Math.ceil(scale.transactionCommands / STEPS_MEAN / 2), seed },
      );
      process.stdout.write(`transactions, RESP${protocol}: ${commands} commands compared\n`);
      for (const one of [...theirs, ...ours]) one.close();
    },
    3_600_000,
  );
});

const bytesOf = (line: readonly string[]) => line.map((word) => Buffer.from(word));

async function begin(connection: Oracle, protocol: Protocol): Promise<void> {
  await connection.call(bytesOf(['RESET']));
  await connection.call(bytesOf(['HELLO', String(protocol)]));
  await connection.call(bytesOf(['FLUSHALL']));
}

async function compareAll(
  ours: readonly Oracle[],
  theirs: readonly Oracle[],
  steps: readonly Step[],
): Promise<number> {
  const multi = [false, false];
  let compared = 0;
  for (const { on, words: line } of steps) {
    // in a transaction over several partitions it has no place here
    if (line[0] === 'FLUSHALL' && multi[on]) continue;
    if (line[0] === 'MULTI' && line.length === 1) multi[on] = true;
    if (line[0] === 'EXEC' || line[0] === 'DISCARD') multi[on] = false;
    const [mine, other] = await Promise.all([
      ours[on]!.call(bytesOf(line)),
      theirs[on]!.call(bytesOf(line)),
    ]);
    expect(mine.toString('latin1'), `${on}: ${line.join(' ')}`).toBe(other.toString('latin1'));
    compared++;
  }
  return compared;
}
