import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { codeOf, KvorumError } from '../../../../src/common/errors.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { encodeSnapshotChunks } from '../../../../src/datanode/partition/snapshots/snapshot-codec.ts';
import { SnapshotInbox } from '../../../../src/datanode/partition/snapshots/snapshot-inbox.ts';
import { encodeState } from '../../../../src/datanode/partition/storage/state.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

const confState = {
  voters: [1, 2, 3],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};
const state = { index: 7, term: 2, timeMs: 5, epoch: 1, confState };

function header(snapshot: Partial<typeof state> = {}) {
  const { index, term, confState: members } = { ...state, ...snapshot };
  const meta = { index, term, confState: members, data: Buffer.alloc(0) };
  return {
    group: 1,
    id: 4,
    offset: 0,
    message: { type: 'snapshot', from: 2, to: 1, term: 3, snapshot: meta } as const,
  };
}

async function streamOf(sealed: Buffer | undefined): Promise<Buffer[]> {
  const { engine } = await createMemoryHost().open('9-0');
  const key = Buffer.from([0x10, 1]);
  await engine.write([{ type: 'put', key, value: sealRecord(key, Buffer.from('value')) }]);
  if (sealed) await engine.write([{ type: 'put', key: STATE_KEY, value: sealed }]);
  const chunks: Buffer[] = [];
  for await (const chunk of encodeSnapshotChunks(engine)) chunks.push(chunk);
  return chunks;
}

async function* source(chunks: readonly Buffer[], end?: Error) {
  yield* chunks;
  if (end) throw end;
}

const sealed = sealRecord(STATE_KEY, encodeState(state));

test('a snapshot whose header says what its data says is taken', async () => {
  const inbox = new SnapshotInbox(
    { clock: systemClock, engines: createMemoryHost() },
    1,
    () => true,
  );
  await inbox.receive(header(), source(await streamOf(sealed)), 1);
  expect(inbox.take(7)?.state).toEqual(state);
});

test.each([
  ['another index', { index: 8 }, sealed, /holds data of index 7 and term 2/],
  ['another term', { term: 3 }, sealed, /holds data of index 7 and term 2/],
  [
    'other members',
    { confState: { ...confState, voters: [1, 2] } },
    sealed,
    /holds data of other members/,
  ],
  ['no state', {}, undefined, /snapshot for replica 1 has no state/],
  ['a state that is none', {}, sealRecord(STATE_KEY, Buffer.alloc(5, 1)), /replica state: /],
])('a snapshot with %s is refused, and its engine let go', async (_name, snapshot, own, text) => {
  const engines = createMemoryHost();
  const inbox = new SnapshotInbox({ clock: systemClock, engines }, 1, () => true);
  const chunks = await streamOf(own);
  await expect(inbox.receive(header(snapshot), source(chunks), 1)).rejects.toThrow(text);
  expect(inbox.take(7)).toBeUndefined();
  // The memory host opens no engine twice.
  const { engine } = await engines.open('1-1');
  await engine.close();
});

test('what came of a stream is kept when it broke, not when it was found damaged', async () => {
  const inbox = new SnapshotInbox(
    { clock: systemClock, engines: createMemoryHost() },
    1,
    () => true,
  );
  const [chunk] = await streamOf(sealed);
  const some = [chunk!.subarray(0, 20)];
  const broken = new KvorumError('CONNECTION_LOST', 'gone');
  await expect(inbox.receive(header(), source(some, broken), 1)).rejects.toThrow('gone');
  expect(inbox.progress(4)).toBe(20);
  const damaged = new KvorumError('CORRUPT', 'a wrong checksum');
  await expect(inbox.receive(header(), source(some, damaged), 1)).rejects.toThrow('checksum');
  expect(inbox.progress(4)).toBe(0);
});

test('a stream that broke goes on where it was, in the same engine, and nowhere else', async () => {
  const inbox = new SnapshotInbox(
    { clock: systemClock, engines: createMemoryHost() },
    1,
    () => true,
  );
  const [chunk] = await streamOf(sealed);
  const broken = new KvorumError('CONNECTION_LOST', 'gone');
  const begin = () => inbox.receive(header(), source([chunk!.subarray(0, 20)], broken), 1);
  const goOn = (offset: number, id: number, generation: number) =>
    inbox.receive({ ...header(), offset, id }, source([chunk!.subarray(20)]), generation);
  for (const [offset, id, generation] of [
    [19, 4, 1],
    [20, 5, 1],
    [20, 4, 2],
  ] as const) {
    await expect(begin()).rejects.toThrow('gone');
    await expect(goOn(offset, id, generation)).rejects.toThrow('is not here');
    expect(inbox.progress(4)).toBe(0);
  }
  await expect(begin()).rejects.toThrow('gone');
  await goOn(20, 4, 1);
  expect(inbox.take(7)).toMatchObject({ state, generation: 1 });
});

test('a replica that stops does not wait for a stream that stands still', async () => {
  const inbox = new SnapshotInbox(
    { clock: systemClock, engines: createMemoryHost() },
    1,
    () => true,
  );
  const [first] = await streamOf(sealed);
  const still: AsyncIterable<Buffer> = {
    async *[Symbol.asyncIterator]() {
      yield first!.subarray(0, 0);
      await new Promise(() => {});
    },
  };
  const receiving = inbox.receive(header(), still, 1).then(
    () => 'taken',
    (failure) => codeOf(failure),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  await inbox.close();
  expect(await receiving).toBe('STOPPING');
  const again = inbox.receive(header(), source([]), 1);
  await expect(again).rejects.toThrow('the replica stops');
});

test('a snapshot that raft accepted is not taken away by another stream', async () => {
  const inbox = new SnapshotInbox(
    { clock: systemClock, engines: createMemoryHost() },
    1,
    () => true,
  );
  const chunks = await streamOf(sealed);
  const first = inbox.receive(header(), source(chunks), 1);
  const codes: unknown[] = [];
  const tryAnother = () =>
    inbox
      .receive({ ...header(), id: 5 }, source(chunks), 1)
      .catch((failure) => codes.push(codeOf(failure)));
  // between its last byte and the decision there is no moment at which another may begin
  let isThere = false;
  void first.then(() => {
    isThere = true;
  });
  const others: Promise<unknown>[] = [];
  while (!isThere) {
    others.push(tryAnother());
    await Promise.resolve();
  }
  await Promise.all([...others, tryAnother()]);
  expect(new Set(codes)).toEqual(new Set(['BUSY']));
  expect(codes.length).toBe(others.length + 1);
  expect(inbox.take(7)?.state).toEqual(state);
  await inbox.receive({ ...header(), id: 5 }, source(chunks), 2);
  expect(inbox.take(7)?.generation).toBe(2);
});

test('a snapshot that raft does not want is removed before another may come', async () => {
  const engines = createMemoryHost();
  let isWanted = false;
  const inbox = new SnapshotInbox({ clock: systemClock, engines }, 1, () => isWanted);
  const remove = engines.remove.bind(engines);
  const removed: string[] = [];
  const chunks = await streamOf(sealed);
  engines.remove = async (name) => {
    if ((await engines.list()).includes(name)) {
      removed.push(name);
      const another = inbox.receive({ ...header(), id: 5 }, source(chunks), 1);
      await expect(another).rejects.toThrow('another snapshot is being received');
    }
    await remove(name);
  };
  await inbox.receive(header(), source(chunks), 1);
  expect(removed).toEqual(['1-1']);
  expect(await engines.list()).toEqual([]);
  expect(inbox.take(7)).toBeUndefined();
  isWanted = true;
  await inbox.receive(header(), source(chunks), 1);
  expect(inbox.take(7)?.state).toEqual(state);
});

test('what came of a stream that broke goes when nobody can want it any more', async () => {
  const engines = createMemoryHost();
  const clock = new ManualClock();
  const inbox = new SnapshotInbox({ clock, engines }, 1, () => true);
  const [chunk] = await streamOf(sealed);
  const broken = new KvorumError('CONNECTION_LOST', 'gone');
  const some = () => source([chunk!.subarray(0, 20)], broken);
  const begin = () => inbox.receive(header(), some(), 1);
  await expect(begin()).rejects.toThrow('gone');
  await inbox.receive({ ...header(), offset: 20 }, source([chunk!.subarray(20)]), 1);
  expect(await clock.step()).toBe(false); // the stream went on: nothing is left to be removed
  inbox.take(7);
  await expect(inbox.receive(header(), some(), 2)).rejects.toThrow('gone');
  expect(await engines.list()).toContain('1-2');
  expect(await clock.step()).toBe(true);
  await expect.poll(() => engines.list()).not.toContain('1-2');
  expect(clock.monotonicMs()).toBeGreaterThan(30_000);
  expect(inbox.progress(4)).toBe(0);
  await inbox.receive(header(), source(await streamOf(sealed)), 2);
  expect(inbox.take(7)).toMatchObject({ generation: 2 });
});
