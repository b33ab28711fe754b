/** When the core's answers leave: never before what they promise is durable, and in order. */
import { expect, test } from 'vitest';
import {
  type AppendWork,
  LogWriter,
} from '../../../../src/datanode/partition/storage/log-writer.ts';
import type { Entry, HardState } from '../../../../src/datanode/raft/message.ts';
import type {
  LogAppend,
  LogUrgency,
  RaftLog,
  ReplicaLog,
} from '../../../../src/datanode/raftlog/raft-log.ts';

const entry = (index: number, bytes = 1): Entry => ({
  ...{ term: 2, index, kind: 'normal', data: new Uint8Array(bytes) },
});
const work = (entries: readonly Entry[], hardState?: HardState): AppendWork => ({
  ...{ type: 'storageAppend', from: 1, to: 1, term: 0, snapshot: undefined, responses: [] },
  ...{ entries, hardState },
});
const commit = (index: number): HardState => ({ term: 2, vote: 1, commit: index });

/** A writer over a log whose disk is the test. */
function scene() {
  const parts: (LogAppend & { readonly urgency: LogUrgency | undefined })[] = [];
  const syncs: (() => void)[] = [];
  const own = { hardState: commit(1) };
  const log = {
    append: (part: LogAppend, onDurable: () => void, urgency?: LogUrgency) => {
      parts.push({ ...part, urgency });
      syncs.push(onDurable);
      own.hardState = part.hardState ?? own.hardState;
    },
  };
  const writer = new LogWriter(log as unknown as RaftLog, own as unknown as ReplicaLog, 7);
  const told: string[] = [];
  const append = (name: string, of: AppendWork) => writer.append(of, () => told.push(name));
  /** The oldest write that waits is durable. */
  const sync = () => syncs.shift()!();
  return { writer, parts, told, append, sync };
}

test('answers without entries of their own wait for what is on its way', () => {
  const { told, append, sync } = scene();
  append('entries', work([entry(2)]));
  append('the same entries once more', work([]));
  append('their commit', work([], commit(2)));
  expect(told).toEqual([]);
  sync();
  expect(told).toEqual(['entries', 'the same entries once more', 'their commit']);
});

test('what is asked behind several writes waits for the last of them', () => {
  const { told, append, sync } = scene();
  append('first', work([entry(2)]));
  append('second', work([entry(3)]));
  append('nothing new', work([]));
  sync();
  expect(told).toEqual(['first']);
  sync();
  expect(told).toEqual(['first', 'second', 'nothing new']);
});

test('with nothing on its way they leave at once, and nothing is written', () => {
  const { told, append, parts } = scene();
  append('commit', work([], commit(1)));
  append('nothing', work([]));
  expect([told, parts]).toEqual([['commit', 'nothing'], []]);
});

test('a term or a vote alone is written before it is told', () => {
  const { told, append, parts, sync } = scene();
  append('term', work([], { term: 3, vote: 0, commit: 1 }));
  append('vote', work([], { term: 3, vote: 2, commit: 1 }));
  expect(told).toEqual([]);
  expect(parts.map(({ hardState }) => hardState?.vote)).toEqual([0, 2]);
  sync();
  expect(told).toEqual(['term']);
  sync();
  expect(told).toEqual(['term', 'vote']);
});

test('a commit index goes with the next entries', () => {
  const { append, parts } = scene();
  append('commit', work([], commit(5)));
  append('entries', work([entry(6)]));
  append('more', work([entry(7)]));
  expect(parts.map(({ hardState }) => hardState?.commit)).toEqual([5, undefined]);
});

test('only entries that are committed, and small, may be written later', () => {
  const { append, parts } = scene();
  append('not committed', work([entry(2)], commit(1)));
  append('committed', work([entry(3)], commit(3)));
  append('in part', work([entry(4), entry(5)], commit(4)));
  append('large', work([entry(6, 100_000)], commit(6)));
  append('with a new term', work([entry(7)], { term: 3, vote: 0, commit: 7 }));
  expect(parts.map(({ urgency }) => urgency)).toEqual(['now', 'later', 'now', 'now', 'now']);
});

test('entries behind a snapshot are told once the snapshot is', async () => {
  const { writer, told, append, sync } = scene();
  let exchanged = () => {};
  const exchange = new Promise<void>((resolve) => {
    exchanged = resolve;
  });
  const reset = { base: { index: 9, term: 2 }, generation: 1 };
  writer.reset(
    work([], commit(9)),
    reset,
    () => exchange,
    () => told.push('snapshot'),
  );
  append('entries', work([entry(10)]));
  append('nothing new', work([]));
  sync();
  sync();
  expect(told).toEqual([]);
  exchanged();
  await exchange;
  await Promise.resolve();
  expect(told).toEqual(['snapshot', 'entries', 'nothing new']);
});

test('a second snapshot, accepted while the first is switched to, waits for its turn', async () => {
  const { writer, told, append, sync } = scene();
  const began: number[] = [];
  const exchanged: (() => void)[] = [];
  const reset = (index: number, generation: number) => {
    const exchange = () => {
      began.push(generation);
      return new Promise<void>((resolve) => exchanged.push(resolve));
    };
    const to = { base: { index, term: 2 }, generation };
    writer.reset(work([], commit(index)), to, exchange, () => told.push(`snapshot ${generation}`));
  };
  reset(9, 1);
  append('behind the first', work([entry(10)]));
  reset(20, 2);
  append('behind the second', work([entry(21)]));
  append('nothing new', work([]));
  for (let write = 0; write < 4; write++) sync();
  append('asked later', work([]));
  expect([told, began]).toEqual([[], [1]]);
  exchanged.shift()!();
  await new Promise(setImmediate);
  expect([told, began]).toEqual([
    ['snapshot 1', 'behind the first'],
    [1, 2],
  ]);
  append('while the second is switched to', work([]));
  exchanged.shift()!();
  await new Promise(setImmediate);
  const second = ['snapshot 2', 'behind the second', 'nothing new', 'asked later'];
  expect(told.slice(2)).toEqual([...second, 'while the second is switched to']);
});
