/**
 * A follower gathers entries into larger engine batches than a leader does. Whatever entries share a
 * batch, every replica's engine holds the same, and everybody is answered the same.
 */
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { RankPool } from '../../../../src/datanode/encoding/ranks/rank-trees.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { type AppliedEntry, Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { encodeEnvelope } from '../../../../src/datanode/partition/entries/envelope.ts';
import type { Entry } from '../../../../src/datanode/raft/message.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { replyBytes } from '../../../../src/datanode/resp/reply-bytes.ts';

const BIRTH = {
  index: 1,
  term: 1,
  timeMs: 0,
  epoch: 1,
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};

function entriesOf(commands: readonly (readonly string[])[]): Entry[] {
  return commands.map((words, at) => {
    const body = { family: 'redis', lines: [words.map((word) => Buffer.from(word))] } as const;
    const data = encodeEnvelope({ timeMs: 1_700_000_000_000, seed: 77 + at, body });
    return { index: 2 + at, term: 1, kind: 'normal', data };
  });
}

/** What the engine holds and what was answered when so many entries share a batch. */
async function applied(
  entries: readonly Entry[],
  together: number,
  ranks?: RankPool,
  clock: Clock = systemClock,
) {
  const { engine } = await createMemoryHost().open('1-0');
  const done: AppliedEntry[] = [];
  let answeredMost = 0;
  let entriesMost = 0;
  let fault: unknown;
  const applier = new Applier(
    clock,
    engine,
    BIRTH,
    { firstSlot: 0, lastSlot: 16_383 },
    {
      ...(ranks && { ranks }),
      mayGather: () => false,
      applyConfChange: () => BIRTH.confState,
      onClear: () => {},
      onApplied: (some) => {
        const bytes = some.flatMap(({ replies }) => replies.map(replyBytes));
        answeredMost = Math.max(
          answeredMost,
          bytes.reduce((sum, one) => sum + one, 0),
        );
        entriesMost = Math.max(entriesMost, some.length);
        done.push(...some);
      },
      keyEvents: new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 })),
      onFault: (failure) => {
        fault = failure;
      },
    },
  );
  for (let at = 0; at < entries.length; at += together) {
    applier.enqueue(entries.slice(at, at + together), () => {});
    await applier.whenIdle();
  }
  expect(fault).toBeUndefined();
  const iterator = engine.iterate({ gte: Buffer.from([2]), lt: Buffer.from([0xff]) });
  const image: string[] = [];
  for (let pairs = await iterator.next(1_000); pairs.length > 0; ) {
    for (const pair of pairs) image.push(pair.map((part) => part.toString('latin1')).join('='));
    pairs = await iterator.next(1_000);
  }
  await iterator.close();
  const replies = done.flatMap(({ replies }) => replies.map((reply) => encodeReply(reply, 3)));
  return { image, replies: replies.map(String), answeredMost, entriesMost };
}

/** Whatever shares a batch. */
async function outcome(...given: Parameters<typeof applied>) {
  const { image, replies } = await applied(...given);
  return { image, replies };
}

const members = (count: number) => Array.from({ length: count }, (_, at) => `member ${at}`);

test('members at random are the same ones however entries are gathered', async () => {
  const entries = entriesOf([
    ['SADD', 'set', ...members(400)],
    ...Array.from({ length: 60 }, () => [
      ['SPOP', 'set'],
      ['SPOP', 'set', '3'],
      ['SADD', 'set', 'member 5', 'member 77', 'member 300'],
    ]).flat(),
  ]);
  const alone = await outcome(entries, 1);
  expect(alone.image.length).toBeGreaterThan(100);
  for (const together of [2, 7, entries.length]) {
    expect(await outcome(entries, together)).toEqual(alone);
  }
});

/** Sets that outgrow their counts' tree and come back, by every way that trees are changed. */
function changesOfSortedSets(count: number): string[][] {
  const random = seededRandom(5);
  const draw = (below: number) => Math.floor(random.float() * below);
  const key = () => `{z}${draw(3)}`;
  const scored = (many: number) =>
    Array.from({ length: many }, () => [String(draw(4)), `m${draw(6_000)}`]).flat();
  const kinds: (() => string[])[] = [
    ...Array.from({ length: 12 }, () => () => ['ZADD', key(), ...scored(1 + draw(3))]),
    ...Array.from({ length: 6 }, () => () => ['ZADD', key(), ...scored(900)]),
    () => ['ZINCRBY', key(), '1', `m${draw(6_000)}`],
    () => ['ZREM', key(), ...scored(200)],
    () => ['ZREMRANGEBYRANK', key(), String(draw(300)), String(300 + draw(900))],
    () => ['ZREMRANGEBYSCORE', key(), '1', '1'],
    () => ['ZPOPMIN', key(), String(draw(700))],
    () => ['ZPOPMAX', key()],
    () => ['ZRANGESTORE', key(), key(), String(draw(900)), '-1'],
    () => ['ZUNIONSTORE', key(), '2', key(), key()],
    () => ['COPY', key(), 'elsewhere', 'REPLACE'],
    () => ['COPY', 'elsewhere', key(), 'REPLACE'],
    () => ['RENAME', key(), key()],
    () => ['DEL', key()],
  ];
  const commands = Array.from({ length: count }, () => kinds[draw(kinds.length)]!());
  return commands.toSpliced(count / 2, 0, ['FLUSHALL']);
}

test('counts of sorted sets are the same ones however entries are gathered, and trees kept', async () => {
  const entries = entriesOf(changesOfSortedSets(200));
  const nothingKept = await outcome(entries, 1, new RankPool(0));
  const nodes = nothingKept.image.filter((record) => record.startsWith(String.fromCharCode(0x1c)));
  expect(nodes.length).toBeGreaterThan(4);
  const small = new RankPool(3);
  for (const [together, pool] of [
    [1, new RankPool()],
    [2, small],
    [7, new RankPool()],
    [entries.length, undefined],
  ] as const) {
    expect(await outcome(entries, together, pool)).toEqual(nothingKept);
  }
  expect(small.nodes).toBeLessThanOrEqual(3);
});

test('what a follower that is behind gives back, to nobody, is not kept until it has caught up', async () => {
  const value = 'v'.repeat(1_048_576);
  const keys = Array.from({ length: 64 }, (_, at) => `k${at}`);
  const entries = entriesOf([
    ...keys.map((key) => ['SET', key, value]),
    ...keys.map((key) => ['GETDEL', key]),
  ]);
  const { image, replies, answeredMost } = await applied(entries, entries.length);
  expect(image.some((record) => record.includes('vvv'))).toBe(false);
  expect(replies.slice(keys.length).every((reply) => reply.includes(value))).toBe(true);
  expect(answeredMost).toBeLessThan(limits.applyReplyBytes + 2 * value.length);
});

test('what entries put is written before they have put much more', async () => {
  const entries = entriesOf(['a', 'b', 'c', 'd'].map((key) => ['SETRANGE', key, '16777215', 'x']));
  const { entriesMost } = await applied(entries, entries.length);
  expect(entriesMost).toBeLessThanOrEqual(
    Math.ceil((limits.applyReplyBytes + 1) / limits.valueBytesMax),
  );
});

/** Jumps by a turn's measure whenever it is looked at. */
function hastyClock(): { clock: Clock; turns: () => number } {
  let ms = 0;
  let turns = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => {
      ms += limits.workMs;
      return ms;
    },
    endOfTurn: (run) => {
      turns++;
      setImmediate(run);
    },
  };
  return { clock, turns: () => turns };
}

test.each([
  ['short', 'v', 3],
  ['long', 'v'.repeat(70_000), 40],
] as const)('the clock is looked at between entries of one %s command', async (_, value, least) => {
  const { clock, turns } = hastyClock();
  const count = 40;
  const commands = Array.from({ length: count }, (_, at) => ['SET', `k${at}`, value]);
  const { replies } = await applied(entriesOf(commands), count, undefined, clock);
  expect(replies.length).toBe(count);
  expect(turns()).toBeGreaterThanOrEqual(least);
});
