/** When reads run: confirmed, with all that they have to see, and of one state. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { FollowerReads } from '../../../../src/datanode/partition/reading/follower-reads.ts';
import { RangeRoom } from '../../../../src/datanode/partition/reading/range-room.ts';
import { Reads } from '../../../../src/datanode/partition/reading/reads.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { handClock } from '../hand-clock.ts';
import { textOf } from '../trio.ts';

const GET = 'GET a';
const MGET = 'MGET a b';

/** What reads look at; 5 entries are applied. */
async function groundOf(pace = new Pace(handClock())) {
  const { engine } = await createMemoryHost().open('1-0');
  const at = { applied: 5, writing: false, clearing: false, settled: true };
  const ground = {
    appliedTimeMs: () => 1,
    engine: () => engine,
    appliedIndex: () => at.applied,
    applied: () => ({ term: 1, index: at.applied }),
    visibleIndex: () => at.applied,
    writing: () => at.writing,
    clearing: () => at.clearing,
    draw: () => 0,
    onFault: (failure: unknown) => expect.unreachable(String(failure)),
    lookups: { hits: 0, misses: 0 },
    pace,
    ranges: new RangeRoom(),
  };
  return { at, ground };
}

const SHARE = { firstSlot: 0, lastSlot: 16_383 };

function batchOf(words: string): CommandBatch {
  return {
    ...{ namespace: 'default', partition: 0, kind: 'read', protocol: 2, term: undefined },
    ...{ lines: [words.split(' ').map((word) => Buffer.from(word))], deadlineMs: 1_000 },
  };
}

/** Gathers the names of what was answered. */
function answers() {
  const answered: string[] = [];
  const note = (words: string, answer: Promise<readonly LineResult[]>) => {
    void answer.then(([result]) => {
      answered.push(result!.ok ? words : textOf(result!));
    });
  };
  const told = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return answered.splice(0);
  };
  return { note, told };
}

/** A leader whose rounds are numbered from 1 on. */
async function scene(pace?: Pace) {
  const { at, ground } = await groundOf(pace);
  const time = { nowMs: () => 1, expirySettled: () => at.settled };
  const reads = new Reads({ ...ground, ...time }, SHARE);
  let round = 0;
  const raft = { requestRead: () => ++round, vouchedReadIndex: () => undefined };
  const { note, told } = answers();
  const read = (words: string) => note(words, reads.gather(batchOf(words)));
  /** All that were gathered take part in one round; its number. */
  const ask = () => {
    reads.flush(raft);
    return round;
  };
  const confirm = (readContext: number, index: number) => reads.confirm([{ readContext, index }]);
  return { at, reads, read, ask, confirm, told };
}

test('while a batch is on its way into the engine only reads of one place run', async () => {
  const { at, reads, read, ask, confirm, told } = await scene();
  at.writing = true;
  for (const words of [MGET, GET]) read(words);
  confirm(ask(), 5);
  expect(await told()).toEqual([GET]);
  at.writing = false;
  reads.resume();
  expect(await told()).toEqual([MGET]);
});

test('reads wait until what was committed when they were asked for is applied', async () => {
  const { at, reads, read, ask, confirm, told } = await scene();
  read(GET);
  confirm(ask(), 6);
  expect(await told()).toEqual([]);
  at.applied = 6;
  reads.resume();
  expect(await told()).toEqual([GET]);
});

test('none runs while the partition is being emptied, or before a deadline is committed', async () => {
  const { at, reads, read, ask, confirm, told } = await scene();
  at.clearing = true;
  read(GET);
  confirm(ask(), 5);
  [at.clearing, at.settled] = [false, false];
  reads.resume();
  expect(await told()).toEqual([]);
  at.settled = true;
  reads.resume();
  expect(await told()).toEqual([GET]);
});

test('who waits for a deadline sees the time of the next entry, whatever has passed behind it', async () => {
  const { ground } = await groundOf();
  const txn = new Txn(ground.engine());
  txn.beginEntry(1);
  storeString(txn, findKey(txn, Buffer.from('a'), 0), Buffer.from('v'), 1_000);
  await ground.engine().write(txn.operations());
  const time = { nowMs: 10, appliedMs: 5 };
  const judged = {
    ...{ nowMs: () => time.nowMs, appliedTimeMs: () => time.appliedMs },
    // as long as a hash has fields that are due
    expirySettled: (nowMs: number) => nowMs <= time.appliedMs,
  };
  const reads = new Reads({ ...ground, ...judged }, SHARE);
  const left: string[] = [];
  const ask = (round: number) => {
    void reads.gather(batchOf('PTTL a')).then(([result]) => left.push(textOf(result!)));
    reads.flush({ requestRead: () => round, vouchedReadIndex: () => undefined });
    reads.confirm([{ readContext: round, index: 5 }]);
  };
  const passes = async (nowMs: number, appliedMs: number) => {
    Object.assign(time, { nowMs, appliedMs });
    reads.resume();
    await new Promise((resolve) => setImmediate(resolve));
    return left.splice(0);
  };
  ask(1);
  expect(await passes(20, 9)).toEqual([]);
  ask(2);
  expect(await passes(40, 15)).toEqual([':985']);
  expect(await passes(50, 30)).toEqual([':970']);
});

test('a round confirms what was asked for before it, and nothing that came later', async () => {
  const { read, ask, confirm, told } = await scene();
  read('GET first');
  const first = ask();
  read('GET second');
  const second = ask();
  read('GET third');
  confirm(first - 1, 5);
  expect(await told()).toEqual([]);
  confirm(second, 5);
  expect(await told()).toEqual(['GET first', 'GET second']);
  confirm(ask(), 5);
  expect(await told()).toEqual(['GET third']);
});

test('what no quorum confirms is given up at its deadline, what is being applied later', async () => {
  const { at, reads, read, ask, confirm, told } = await scene();
  read('GET confirmed');
  confirm(ask(), 6);
  read('GET unconfirmed');
  ask();
  reads.expire(999);
  expect(await told()).toEqual([]);
  reads.expire(1_000);
  expect(await told()).toEqual(['NO_LEADER']);
  at.applied = 6;
  reads.resume();
  expect([await told(), reads.count]).toEqual([['GET confirmed'], 0]);
});

test('a follower, too, runs reads of several places only between two batches', async () => {
  const { at, ground } = await groundOf();
  const time = { monotonicMs: () => 0, readTimeMs: () => 1, hurry: () => {} };
  const reads = new FollowerReads({ ...ground, ...time, askLeader: () => 1 }, SHARE);
  const { note, told } = answers();
  at.writing = true;
  for (const words of [MGET, GET]) note(words, reads.gather(batchOf(words), 100));
  reads.confirm([{ readContext: 1, index: 5 }]);
  expect(await told()).toEqual([GET]);
  at.writing = false;
  reads.resume();
  expect(await told()).toEqual([MGET]);
});

/** Each of the replicas has more reads of several places in each turn than a turn has room for. */
async function answersOfBusy(replicas: readonly ((answered: () => void) => void)[]) {
  const counts = replicas.map(() => 0);
  for (let turn = 0; turn < 30; turn++) {
    for (const [at, ask] of replicas.entries()) {
      for (let each = 0; each <= limits.turnStepsMax; each++) ask(() => counts[at]!++);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return counts;
}

test('of partitions that are read without end each has its turn', async () => {
  const pace = new Pace(handClock());
  const scenes = await Promise.all([1, 2, 3].map(() => scene(pace)));
  const counts = await answersOfBusy(
    scenes.map(({ reads, ask, confirm }) => (answered) => {
      void reads.gather(batchOf(MGET)).then(answered);
      confirm(ask(), 5);
    }),
  );
  expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 2);
});

test('so has each partition whose followers are read', async () => {
  const pace = new Pace(handClock());
  const replicas = await Promise.all(
    [1, 2, 3].map(async () => {
      const { ground } = await groundOf(pace);
      const time = { monotonicMs: () => 0, readTimeMs: () => 1, hurry: () => {} };
      const reads = new FollowerReads({ ...ground, ...time, askLeader: () => 1 }, SHARE);
      reads.gather(batchOf(GET), 100);
      reads.confirm([{ readContext: 1, index: 5 }]);
      return (answered: () => void) => {
        void reads.gather(batchOf(MGET), 100).then(answered);
        reads.resume();
      };
    }),
  );
  const counts = await answersOfBusy(replicas);
  expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 2);
});
