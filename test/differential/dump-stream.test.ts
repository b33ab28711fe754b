/**
 * Streams between kvorum and a stock redis-server: after drawn commands on both, what either dumps the other
 * restores, and Redis tells the same of what it
 * had itself, of what came from here, and of what was here in between.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';

const OK = { text: 'OK' };

interface Named {
  call(...words: (string | Buffer)[]): Promise<Reply>;
}

const group = fc.constantFrom('g', 'h');
const consumer = fc.constantFrom('alice', 'bob', '');
/** Around the bounds of Redis's numbers, and where the milliseconds go on and the sequence goes back. */
const id = fc.oneof(
  fc.tuple(fc.nat(6), fc.nat(6)).map(([ms, sequence]) => `${ms}-${sequence}`),
  fc.constantFrom('70000-5', '70000-200', '5000000000-1', '5000000000-4294967296'),
  fc.constantFrom('18446744073709551615-3', '9223372036854775808-9223372036854775807'),
);
const piece = fc.oneof(
  fc.constantFrom('a', 'b', '', '7', '-1', '4095', '-4097', '32768', '-8388609', '2147483648'),
  fc.constantFrom('9223372036854775807', '9223372036854775808', '-9223372036854775808', '007'),
  fc.constantFrom('x'.repeat(63), 'x'.repeat(64), 'x'.repeat(127), 'x'.repeat(3_000)),
  fc.constantFrom('y'.repeat(4_096), 'z'.repeat(16_380), '\u00ff'),
);
const fields = fc.oneof(
  piece.map((value) => ['f', value]),
  fc.tuple(piece, piece, piece, piece),
);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(id, fields).map(([at, pairs]) => ['XADD', 'k', at, ...pairs]) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(6), fields).map(([ms, pairs]) => ['XADD', 'k', `${ms}-*`, ...pairs]),
  },
  { weight: 3, arbitrary: id.map((at) => ['XDEL', 'k', at]) },
  fc.nat(5).map((left) => ['XTRIM', 'k', 'MAXLEN', String(left)]),
  id.map((at) => ['XSETID', 'k', at, 'ENTRIESADDED', '300', 'MAXDELETEDID', '0-1']),
  fc
    .tuple(group, fc.oneof(id, fc.constantFrom('$', '0')))
    .map(([name, at]) => ['XGROUP', 'CREATE', 'k', name, at, 'MKSTREAM']),
  fc
    .tuple(group, id)
    .map(([name, at]) => ['XGROUP', 'SETID', 'k', name, at, 'ENTRIESREAD', '70000']),
  fc.tuple(group, consumer).map(([name, who]) => ['XGROUP', 'CREATECONSUMER', 'k', name, who]),
  {
    weight: 5,
    arbitrary: fc
      .tuple(group, consumer)
      .map(([name, who]) => ['XREADGROUP', 'GROUP', name, who, 'COUNT', '2', 'STREAMS', 'k', '>']),
  },
  fc
    .tuple(group, consumer, id)
    .map(([name, who, at]) => ['XCLAIM', 'k', name, who, '0', at, 'RETRYCOUNT', '100000']),
  fc.tuple(group, id).map(([name, at]) => ['XACK', 'k', name, at]),
  fc.constant(['many']),
);

/** All that Redis tells of a stream, but how it has laid it out in memory. */
async function told(redis: RealRedis, key: string): Promise<unknown> {
  const entries = await redis.call('XRANGE', key, '-', '+');
  const about = await redis.call('XINFO', 'STREAM', key, 'FULL', 'COUNT', '0');
  return [shown(entries), shown(about)];
}

function shown(reply: Reply): unknown {
  if (reply.kind === 'bulk') return reply.bytes.toString('latin1');
  if (reply.kind === 'integer') return Number(reply.value);
  if (reply.kind !== 'array') return JSON.stringify(reply);
  const items = reply.items.map(shown);
  const at = items.indexOf('radix-tree-keys');
  return at < 0 || at % 2 !== 0 ? items : items.toSpliced(at, 4);
}

/** Times in it, which differ by what passes between a command here and there, are left out. */
function timeless(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item) =>
    Number(item) > 1e12 && typeof item === 'number' ? 'a time' : timeless(item),
  );
}

async function dumped(of: Named, key: string): Promise<Buffer> {
  const reply = await of.call('DUMP', key);
  if (reply.kind !== 'bulk') throw new Error(`DUMP answered ${JSON.stringify(reply)}`);
  return reply.bytes;
}

/** A step stands for many entries of the same fields, some of which are removed in its midst. */
async function run(of: Named, words: readonly string[]): Promise<Reply | undefined> {
  if (words[0] !== 'many') {
    // Redis 7.2 makes a consumer also where it has nothing for it, 7.0 does not
    const [name, who] = words[0] === 'XREADGROUP' ? words.slice(2) : words.slice(2, 4);
    const mayMake = words[0] === 'XREADGROUP' || words[0] === 'XCLAIM';
    if (mayMake) await of.call('XGROUP', 'CREATECONSUMER', 'k', name!, who!);
    return of.call(...words);
  }
  for (let at = 0; at < 230; at++) await of.call('XADD', 'k', '8-*', 'f', String(at * at));
  for (const at of [3, 110, 111]) await of.call('XDEL', 'k', `8-${at}`);
  return undefined;
}

/** What Redis 7.0 does not refuse, and later ones do: XSETID below the greatest ID that was deleted. */
function isRefusedLater(reply: Reply | undefined): boolean {
  return reply?.kind === 'error' && reply.text.includes('max_deleted_entry_id');
}

describe.skipIf(!hasRedis)('streams travel', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis?.stop());

  test(
    'both ways, whatever they went through',
    async () => {
      const lines = step.map((words) => ({ words }));
      await compareSequences(
        'DUMP of streams',
        lines,
        scale.differentialCommands,
        async (steps) => {
          await redis.call('FLUSHALL');
          const partition = await LonePartition.open();
          partition.nowMs = Date.now();
          for (const { words } of steps) {
            if (!isRefusedLater(await run(partition, words))) await run(redis, words);
          }
          const there = await redis.call('EXISTS', 'k');
          if (there.kind === 'integer' && Number(there.value) === 1) await exchange(partition);
          return steps.length;
        },
      );
    },
    SEQUENCES_TIMEOUT_MS,
  );

  async function exchange(partition: LonePartition): Promise<void> {
    const truth = await told(redis, 'k');
    const ours = await dumped(partition, 'k');
    expect([ours[0], ours.readUInt16LE(ours.length - 10)]).toEqual([19, 9]);
    expect(await redis.call('RESTORE', 'ours', '0', ours, 'REPLACE')).toMatchObject(OK);
    expect(timeless(await told(redis, 'ours'))).toEqual(timeless(truth));

    const theirs = await dumped(redis, 'k');
    expect(await partition.call('RESTORE', 'theirs', '0', theirs)).toMatchObject(OK);
    const back = await dumped(partition, 'theirs');
    expect(await redis.call('RESTORE', 'back', '0', back, 'REPLACE')).toMatchObject(OK);
    expect(await told(redis, 'back')).toEqual(truth);
  }
});
