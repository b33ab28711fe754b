import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type {
  CommandBatch,
  EntryFate,
  LineResult,
} from '../../../src/datanode/partition/entries/batch.ts';
import type { FateQuestion } from '../../../src/datanode/partition/entries/fate-codec.ts';
import { error, integer, OK } from '../../../src/datanode/resp/reply.ts';
import { LostEntries } from '../../../src/datanode/routing/lost-entries.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

let clock: ManualClock;
/** What each node answers, in turn, the last one for ever; undefined: it cannot be asked. */
let script: Record<string, (EntryFate | undefined)[]>;
let members: string[] | undefined;
let asked: string[];
let listeners: Set<() => void>;
let lost: LostEntries;

const open: EntryFate = { kind: 'open' };
const never: EntryFate = { kind: 'never' };
const forgotten: EntryFate = { kind: 'forgotten' };
const unkept: EntryFate = { kind: 'done', replies: undefined };
const done: EntryFate = { kind: 'done', replies: [OK, integer(2)] };

beforeEach(() => {
  clock = new ManualClock();
  script = {};
  members = ['a', 'b', 'c'];
  asked = [];
  listeners = new Set();
  lost = new LostEntries({
    clock,
    members: () => members,
    ask: answer,
    onLeader: (_group, listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
});

async function answer(node: string, { index }: FateQuestion): Promise<EntryFate> {
  asked.push(`${node} ${index}`);
  const answers = script[node] ?? [];
  const fate = answers.length > 1 ? answers.shift() : answers[0];
  if (fate === undefined) throw new Error('unreachable');
  return fate;
}

const unknown = (at: number, index = 7): LineResult => ({
  ok: false,
  code: 'OUTCOME_UNKNOWN',
  message: 'why',
  place: { term: 3, index, at },
});

function find(...results: LineResult[]): Promise<readonly LineResult[]> {
  const batch: CommandBatch = {
    namespace: 'default',
    partition: 0,
    group: 10,
    kind: 'write',
    lines: results.map(() => [Buffer.from('INCR'), Buffer.from('a')]),
    protocol: 2,
    term: undefined,
    deadlineMs: 0,
  };
  return lost.find(batch, results);
}

/** With time passing until it is there. */
async function within<T>(limitMs: number, result: Promise<T>): Promise<T | 'late'> {
  let settled: T | 'late' = 'late';
  void result.then((value) => {
    settled = value;
  });
  let isOver = false;
  const timer = clock.setTimer(limitMs, () => {
    isOver = true;
  });
  while (!isOver && settled === 'late') await clock.step();
  timer.cancel();
  return settled;
}

test('what took effect answers what it answered', async () => {
  script = { a: [open], b: [open, done], c: [undefined] };
  const before: LineResult = { ok: true, reply: OK };
  expect(await within(100, find(before, unknown(0), unknown(1)))).toEqual([
    before,
    { ok: true, reply: OK },
    { ok: true, reply: integer(2) },
  ]);
  expect(listeners.size).toBe(0);
});

test('what never does may be proposed again, with what is behind it', async () => {
  script = { a: [open], b: [never], c: [open] };
  const behind: LineResult = { ok: false, code: 'TERM_CHANGED', message: 'another took its place' };
  const [first, second] = (await within(100, find(unknown(0), behind))) as LineResult[];
  expect(first).toMatchObject({ ok: false, code: 'TERM_CHANGED' });
  expect(second).toBe(behind);
});

test('many who share an entry ask once, and each entry is asked for by itself', async () => {
  script = { a: [done], b: [open], c: [open] };
  const all = [find(unknown(0)), find(unknown(1)), find(unknown(0, 8))];
  expect(await within(100, Promise.all(all))).not.toBe('late');
  expect(asked.filter((one) => one === 'a 7')).toHaveLength(1);
  expect(asked.filter((one) => one === 'a 8')).toHaveLength(1);
  expect(lost.count).toBe(2);
});

test('whoever has the replies is looked for a while; then it is told that it took effect', async () => {
  script = { a: [unkept], b: [undefined], c: [forgotten] };
  const found = find(unknown(0));
  expect(await within(4_000, found)).toBe('late');
  const [result] = (await within(2_500, found)) as LineResult[];
  expect(result).toMatchObject({ ok: true, reply: { text: expect.stringMatching(/^DONE /) } });
  // at once where nobody can know more
  script = { a: [unkept], b: [forgotten], c: [unkept] };
  expect(await within(0, find(unknown(0)))).toMatchObject([{ ok: true }]);
});

test('it stays unknown when all have forgotten it, or nobody can tell in time', async () => {
  script = { a: [forgotten], b: [forgotten], c: [forgotten] };
  expect(await within(0, find(unknown(0)))).toEqual([unknown(0)]);
  script = { a: [open], b: [undefined], c: [undefined] };
  const found = find(unknown(0));
  expect(await within(limits.outcomeWaitMs - 1_000, found)).toBe('late');
  expect(await within(3_000, found)).toEqual([unknown(0)]);
});

test('news of a leader end a pause', async () => {
  script = { a: [open], b: [open], c: [open] };
  const found = find(unknown(0));
  expect(await within(2_000, found)).toBe('late');
  script = { b: [done] };
  asked.length = 0;
  for (const listener of [...listeners]) listener();
  expect(await within(0, found)).toEqual([{ ok: true, reply: OK }]);
});

test('a partition that is gone has no outcomes', async () => {
  members = undefined;
  const [result] = (await within(0, find(unknown(0)))) as LineResult[];
  expect(result).toMatchObject({ ok: false, code: 'NO_PARTITION' });
  // of one that was rebuilt what was left is there still
  members = [];
  expect(await within(0, find(unknown(0)))).toEqual([unknown(0)]);
});

test('when the node stops nothing is asked for any more', async () => {
  script = { a: [open] };
  const found = find(unknown(0));
  expect(await within(100, found)).toBe('late');
  lost.close();
  expect(await within(0, found)).toEqual([unknown(0)]);
});

test('what names no entry stays as it is', async () => {
  const plain: LineResult = { ok: false, code: 'DEADLINE', message: 'why' };
  const answered: LineResult = { ok: true, reply: error('ERR no') };
  expect(await within(0, find(answered, plain))).toEqual([answered, plain]);
  expect(asked).toEqual([]);
});
