import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { History } from '../../../src/meta/embedded/history.ts';
import type { LocalStore } from '../../../src/meta/embedded/local-store.ts';
import type { WatchCreate, WatchResponse } from '../../../src/meta/embedded/messages.ts';
import { WatchStream } from '../../../src/meta/embedded/watch-stream.ts';

const LARGE = Buffer.alloc(limits.metaWatchResponseBytes);

let history: History;
let durableRevision: number;
let listeners: Set<() => void>;
let told: Partial<WatchResponse>[];
/** How many more responses the client takes at once. */
let room: number;
let stream: WatchStream;

beforeEach(() => {
  history = new History(1);
  durableRevision = 0;
  listeners = new Set();
  told = [];
  room = Number.POSITIVE_INFINITY;
  const store: Pick<LocalStore, 'durableRevision' | 'durableHeader' | 'onDurable'> = {
    get durableRevision() {
      return durableRevision;
    },
    durableHeader: () => ({ clusterId: 1, memberId: 1, revision: durableRevision, raftTerm: 1 }),
    onDurable: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const whole = Object.defineProperties(
    { state: { history } },
    Object.getOwnPropertyDescriptors(store),
  );
  stream = new WatchStream(whole as unknown as LocalStore, {
    write: (response) => {
      told.push(response);
      return --room > 0;
    },
  });
});

function put(revision: number, value = Buffer.from('v')): void {
  const at = { createRevision: revision, modRevision: revision, version: 1, lease: 0 };
  const kv = { key: Buffer.from('/k'), value, ...at };
  history.push({ revision, type: 'put', kv, prevKv: undefined });
}

function makeDurable(revision: number): void {
  durableRevision = revision;
  for (const listener of listeners) listener();
}

function watch(of: Partial<WatchCreate> = {}): void {
  const create: WatchCreate = {
    ...{ key: Buffer.from('/'), rangeEnd: Buffer.from('0'), startRevision: 1, watchId: 0 },
    ...{ progressNotify: false, filters: [], prevKv: false, ...of },
  };
  stream.receive({ create });
}

/** Revisions of the events of each response that has some. */
const revisions = () =>
  told.flatMap(({ events }) => (events ? [events.map(({ kv }) => kv?.modRevision)] : []));

test('tells changes once they are durable, not before', () => {
  watch();
  put(1);
  put(2);
  put(3);
  expect(revisions()).toEqual([]);
  makeDurable(2);
  expect(revisions()).toEqual([[1, 2]]);
  makeDurable(3);
  expect(revisions()).toEqual([[1, 2], [3]]);
});

test('a response holds whole revisions, and not many more bytes than its bound', () => {
  put(1, LARGE);
  put(1, LARGE);
  put(2, LARGE);
  put(3);
  put(4, LARGE);
  makeDurable(4);
  watch();
  expect(revisions()).toEqual([[1, 1], [2], [3, 4]]);
});

test('one who takes no more is told no more, and goes on where it was', () => {
  watch();
  room = 1;
  put(1);
  makeDurable(1);
  put(2);
  makeDurable(2);
  put(3);
  makeDurable(3);
  expect(revisions()).toEqual([[1]]);
  room = Number.POSITIVE_INFINITY;
  stream.drained();
  expect(revisions()).toEqual([[1], [2, 3]]);
});

test('one that has fallen out of the history is told so, and ends', () => {
  for (let revision = 1; revision <= 5; revision++) put(revision);
  history.compact(4);
  makeDurable(5);
  watch({ startRevision: 3 });
  const canceled = { watchId: 0, canceled: true, compactRevision: 4 };
  expect(told.at(-1)).toMatchObject(canceled);
  watch({ startRevision: 4 });
  expect(revisions()).toEqual([[4, 5]]);
});

test('so many watches at a time, each with an id of its own', () => {
  for (let at = 0; at < limits.metaWatchesPerStreamMax; at++) watch();
  expect(new Set(told.map(({ watchId }) => watchId)).size).toBe(limits.metaWatchesPerStreamMax);
  const refused = { watchId: -1, created: true, canceled: true };
  watch();
  expect(told.at(-1)).toMatchObject({ ...refused, cancelReason: 'etcdserver: too many watches' });
  stream.receive({ cancel: { watchId: 7 } });
  expect(told.at(-1)).toMatchObject({ watchId: 7, canceled: true });
  const bad = { ...refused, cancelReason: 'etcdserver: bad watch request' };
  watch({ watchId: 8 });
  expect(told.at(-1)).toMatchObject(bad);
  watch({ key: Buffer.alloc(0) });
  expect(told.at(-1)).toMatchObject(bad);
  watch({ watchId: 7 });
  expect(told.at(-1)).toMatchObject({ watchId: 7, created: true });
});

test('closed, it leaves the store alone', () => {
  watch();
  stream.close();
  expect(listeners.size).toBe(0);
  put(1);
  makeDurable(1);
  expect(revisions()).toEqual([]);
});
