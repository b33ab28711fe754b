import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import { formatStreamId } from '../../../../src/datanode/encoding/records/stream-id.ts';
import type { ChangeSet } from '../../../../src/datanode/encoding/txn/change-set.ts';
import type { LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import type { WaitOutcome, WaitRequest } from '../../../../src/datanode/partition/entries/wait.ts';
import {
  type ReaderRead,
  StreamReaders,
} from '../../../../src/datanode/partition/waiting/stream-readers.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { bulk, NULL_ARRAY, type Reply } from '../../../../src/datanode/resp/reply.ts';

interface Asked {
  readonly read: ReaderRead;
  readonly again: boolean;
  readonly settle: (result: LineResult) => void;
}

let readers: StreamReaders;
/** Reads that nobody has answered. */
let reads: Asked[];
let outcomes: Map<string, WaitOutcome>;
/** Keys and IDs behind which there may be something: `key id`. */
let behind: Set<string>;
let looks: number;
let turns: number;
let clearing: boolean;

beforeEach(() => {
  [reads, outcomes, behind, looks, turns, clearing] = [[], new Map(), new Set(), 0, 0, false];
  const ask = (again: boolean) => (read: ReaderRead) =>
    new Promise<LineResult>((settle) => reads.push({ read, again, settle }));
  readers = new StreamReaders({
    read: ask(false),
    readAgain: ask(true),
    mayHaveBehind: (key, id) => {
      looks++;
      return behind.has(`${key} ${formatStreamId(id)}`);
    },
    clearing: () => clearing,
    requestTurn: () => turns++,
  });
});

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const request = (id: string, text: string, withdraw = false): WaitRequest => ({
  id: Buffer.from(id),
  line: line(text),
  protocol: 2,
  withdraw,
});
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const FROM_START = 'XREAD BLOCK 0 STREAMS a 0';

function ask(id: string, text: string, withdraw = false): WaitRequest {
  const asked = request(id, text, withdraw);
  void readers.ask(asked).then((outcome) => outcomes.set(id, outcome));
  return asked;
}

/** The oldest read that waits. */
async function answer(reply: Reply): Promise<void> {
  reads.shift()!.settle({ ok: true, reply });
  await settled();
}

/** Registered, with nothing there. */
async function wait(id: string, text: string): Promise<WaitRequest> {
  const asked = ask(id, text);
  await answer(NULL_ARRAY);
  readers.work();
  return asked;
}

const put = (...keys: string[]) => readers.onChanged(changes(keys, Buffer.from('x')));
function changes(keys: readonly string[], after: Buffer | undefined, many = false): ChangeSet {
  const all = keys.map((key) => ({ key: encodeKey(Buffer.from(key)), after }));
  return {
    all: () => all,
    get: (name) => all.find(({ key }) => key.toString('latin1') === name),
    elements: many ? new Set() : undefined,
  };
}

function shown(id: string): string | undefined {
  const outcome = outcomes.get(id);
  if (outcome?.kind !== 'served') return outcome?.kind;
  const { reply } = outcome;
  const given = reply.kind === 'encoded' ? decodeReply(reply.bytes) : reply;
  return given.kind === 'bulk' ? given.bytes.toString() : given.kind;
}

const linesRead = () => reads.map(({ read }) => read.line.join(' '));
const counts = () => [readers.count, readers.bytes, readers.kinds];

test('what is there when it comes is given at once, behind a round', async () => {
  ask('1', FROM_START);
  expect(reads[0]).toMatchObject({ again: false });
  await answer(bulk(Buffer.from('entries')));
  expect(shown('1')).toBe('entries');
  expect(counts()).toEqual([0, 0, 0]);
});

test('who found nothing is read for again when a key of it was changed', async () => {
  await wait('1', 'XREAD BLOCK 0 STREAMS a b 1-1 2');
  put('c');
  readers.work();
  expect(reads).toEqual([]);
  behind.add('b 2-0');
  put('b');
  readers.work();
  expect(reads).toMatchObject([{ again: true }]);
  await answer(bulk(Buffer.from('entries')));
  expect(shown('1')).toBe('entries');
  expect(counts()).toEqual([0, 0, 0]);
});

test('only keys that may have something are read again: what another became is no matter', async () => {
  await wait('1', 'XREAD COUNT 3 BLOCK 0 STREAMS a b 1-1 2-2');
  behind.add('b 2-2');
  put('a', 'b');
  readers.work();
  expect(linesRead()).toEqual(['XREAD COUNT 3 BLOCK 0 STREAMS b 2-2']);
});

test('what was applied between the read and its answer is looked at', async () => {
  ask('1', FROM_START);
  behind.add('a 0-0');
  put('a');
  await answer(NULL_ARRAY);
  readers.work();
  expect(reads).toMatchObject([{ again: true }]);
  await answer(bulk(Buffer.from('entries')));
  expect(shown('1')).toBe('entries');
});

test('what was applied while it was read again, to no avail, is looked at', async () => {
  await wait('1', FROM_START);
  behind.add('a 0-0');
  put('a');
  readers.work();
  put('a');
  readers.work();
  expect(reads.length).toBe(1);
  await answer(NULL_ARRAY);
  readers.work();
  expect(reads.length).toBe(1);
  await answer(NULL_ARRAY);
  readers.work();
  expect(reads).toEqual([]);
  expect(readers.isDue).toBe(false);
});

test('requests that are alike are looked at and read once', async () => {
  for (const id of ['1', '2', '3']) await wait(id, FROM_START);
  await wait('4', 'XREAD BLOCK 0 STREAMS a 5');
  expect(readers.kinds).toBe(2);
  behind.add('a 0-0');
  looks = 0;
  put('a');
  readers.work();
  expect([looks, reads.length]).toEqual([2, 1]);
  await answer(bulk(Buffer.from('entries')));
  expect(['1', '2', '3', '4'].map(shown)).toEqual(['entries', 'entries', 'entries', undefined]);
});

test('who came while others were read again is no part of that', async () => {
  await wait('1', FROM_START);
  behind.add('a 0-0');
  put('a');
  readers.work();
  const [again] = reads.splice(0);
  ask('2', FROM_START);
  await answer(NULL_ARRAY);
  again!.settle({ ok: true, reply: bulk(Buffer.from('entries')) });
  await settled();
  expect([shown('1'), shown('2')]).toEqual(['entries', undefined]);
  readers.work();
  expect(reads.length).toBe(1);
});

test('thousands who read one key are answered in several turns', async () => {
  const COUNT = 1_000;
  for (let at = 0; at < COUNT; at++) await wait(`${at}`, FROM_START);
  behind.add('a 0-0');
  put('a');
  const given: number[] = [];
  const note = () => given.push([...outcomes.values()].length);
  readers.work();
  await answer(bulk(Buffer.from('entries')));
  note();
  for (; readers.isDue; note()) {
    readers.work();
    await settled();
  }
  expect(given.at(-1)).toBe(COUNT);
  const steps = given.map((count, at) => count - (given[at - 1] ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(128);
  expect(counts()).toEqual([0, 0, 0]);
});

test('thousands of different requests are looked at in several turns, and few read at once', async () => {
  for (let at = 1; at <= 300; at++) {
    await wait(`${at}`, `XREAD BLOCK 0 STREAMS a ${at}`);
    behind.add(`a ${at}-0`);
  }
  put('a');
  looks = 0;
  readers.work();
  expect(reads.length).toBe(16);
  expect(looks).toBe(16);
  await answer(bulk(Buffer.from('entries')));
  readers.work();
  expect(reads.length).toBe(16);
});

test('`$` is made an ID, with which the client asks again', async () => {
  ask('1', 'XREAD COUNT 2 BLOCK 5 STREAMS a b $ 3');
  const { read, settle } = reads.shift()!;
  const view = { get: () => undefined };
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  read.run(view as never, context as never);
  settle({ ok: true, reply: NULL_ARRAY });
  await settled();
  const outcome = outcomes.get('1')!;
  if (outcome.kind !== 'concrete') throw new Error(outcome.kind);
  expect(outcome.line.join(' ')).toBe('XREAD COUNT 2 BLOCK 5 STREAMS a b 0-0 3');
  expect(counts()).toEqual([0, 0, 0]);
});

test('withdrawn it ends, after what is being read for it', async () => {
  await wait('1', FROM_START);
  ask('1', FROM_START, true);
  await settled();
  expect(shown('1')).toBe('withdrawn');
  ask('2', FROM_START);
  ask('2', FROM_START, true);
  await settled();
  expect(shown('2')).toBe('superseded');
  await answer(bulk(Buffer.from('entries')));
  expect(shown('2')).toBe('entries');
  await wait('3', FROM_START);
  behind.add('a 0-0');
  put('a');
  readers.work();
  ask('3', FROM_START, true);
  await answer(bulk(Buffer.from('entries')));
  expect(shown('3')).toBe('entries');
  ask('4', FROM_START, true);
  await settled();
  expect(shown('4')).toBe('withdrawn');
  expect(counts()).toEqual([0, 0, 0]);
});

test('withdrawn while its key is looked at to no avail it ends as well', async () => {
  await wait('1', FROM_START);
  put('a');
  ask('1', FROM_START, true);
  await settled();
  expect(shown('1')).toBe('superseded');
  readers.work();
  await settled();
  expect(shown('1')).toBe('withdrawn');
});

test('who has gone leaves nothing', async () => {
  const asked = await wait('1', FROM_START);
  const early = ask('2', FROM_START);
  readers.leave(asked);
  readers.leave(early);
  expect(counts()).toEqual([0, 0, 0]);
  await answer(NULL_ARRAY);
  expect(counts()).toEqual([0, 0, 0]);
  put('a');
  expect(readers.isDue).toBe(false);
});

test('when leadership is lost all ask again elsewhere', async () => {
  await wait('1', FROM_START);
  ask('2', FROM_START);
  readers.failAll('NOT_LEADER', 'gone');
  await settled();
  expect([shown('1'), shown('2')]).toEqual(['failed', 'failed']);
  await answer(NULL_ARRAY);
  expect(counts()).toEqual([0, 0, 0]);
});

test('of many changes those of its keys are asked for; deletions are none', async () => {
  await wait('1', FROM_START);
  readers.onChanged(changes(['a'], undefined));
  readers.onChanged(changes(['b'], Buffer.from('x'), true));
  expect(readers.isDue).toBe(false);
  readers.onChanged(changes(['a'], Buffer.from('x'), true));
  expect(readers.isDue).toBe(true);
});

test('while the partition is emptied nothing is looked at', async () => {
  await wait('1', FROM_START);
  put('a');
  clearing = true;
  [looks, turns] = [0, 0];
  readers.work();
  expect([looks, turns]).toEqual([0, 0]);
  clearing = false;
  readers.work();
  expect(looks).toBe(1);
});

test('no more than a partition has room for', async () => {
  const large = `XREAD BLOCK 0 STREAMS ${'k'.repeat(500_000)} 0`;
  const most = Math.ceil(limits.waiterBytesPerPartitionMax / 1_000_000);
  for (let at = 0; at < most + 2; at++) ask(`${at}`, large);
  await settled();
  expect(outcomes.get(`${most + 1}`)).toMatchObject({ kind: 'failed', code: 'BUSY' });
});

test('what does not wait by reading is refused', async () => {
  ask('1', 'XREAD STREAMS a 0');
  await settled();
  expect(outcomes.get('1')).toMatchObject({ kind: 'failed', code: 'BAD_FRAME' });
});
