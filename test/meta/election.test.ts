/** What a campaign makes of a watch that tells old news, and of a lease that ends meanwhile. */
import { beforeEach, expect, test } from 'vitest';
import type { Revision } from '../../src/common/ids.ts';
import { campaign } from '../../src/meta/election.ts';
import type { Lease, MetaItem, MetaStore, WatchHandlers } from '../../src/meta/store.ts';

const PREFIX = '/election/';
const KEY = `${PREFIX}7`;

const madeAt = (createRevision: Revision, key = KEY): MetaItem => ({
  ...{ key, value: 'pd', createRevision, modRevision: createRevision },
});

/** A store whose watch and answers are the test's; the candidate's key was put at revision 10. */
let watching: WatchHandlers | undefined;
let found: MetaItem | undefined;
let deleted: string[];
let onGet: () => void;
let lost: AbortController;
let lease: Lease;

const store = {
  transaction: async () => ({ succeeded: true, revision: 10 }),
  get: async () => {
    onGet();
    return found;
  },
  delete: async (key: string) => {
    deleted.push(key);
    return 11;
  },
  watch: (_prefix: string, handlers: WatchHandlers) => {
    watching = handlers;
    return {
      close: () => {
        watching = undefined;
      },
    };
  },
} as unknown as MetaStore;

beforeEach(() => {
  watching = undefined;
  found = madeAt(10);
  deleted = [];
  onGet = () => {};
  lost = new AbortController();
  lease = { id: '7', lost: lost.signal, revoke: async () => {} };
});

async function begin(signal?: AbortSignal) {
  const settled = campaign(store, PREFIX, 'pd', lease, signal).then(
    ({ revision }) => revision,
    (failure: { code: string }) => failure.code,
  );
  await turn();
  return settled;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What the campaign came to; undefined: it goes on. */
async function outcomeAfter(news: () => void, signal?: AbortSignal) {
  let outcome: Revision | string | undefined;
  const running = campaign(store, PREFIX, 'pd', lease, signal).then(
    ({ revision }) => revision,
    (failure: { code: string }) => failure.code,
  );
  void running.then((told) => {
    outcome = told;
  });
  await turn();
  news();
  await turn();
  return outcome;
}

test('who has the oldest key is master, and its watch is closed', async () => {
  const list = () => watching?.onList([madeAt(10), madeAt(12, `${PREFIX}9`)], 12);
  expect(await outcomeAfter(list)).toBe(10);
  expect([watching, deleted]).toEqual([undefined, []]);
});

test('a list from before its key was there, of a member that lags, is waited out', async () => {
  expect(await outcomeAfter(() => watching?.onList([madeAt(4, `${PREFIX}3`)], 9))).toBeUndefined();
  watching?.onEvents([{ type: 'put', item: madeAt(10) }], 10);
  await turn();
  expect(watching).toBeDefined();
});

test.each([
  ['is gone', undefined],
  ['was made anew, behind a rival that came between', madeAt(15)],
])('who is told that it is the oldest is not master when its key %s', async (_, now) => {
  found = now;
  expect(await outcomeAfter(() => watching?.onList([madeAt(10)], 10))).toBe('LEASE_LOST');
  expect(deleted).toEqual([KEY]);
});

test('nor when its lease ends while the store is asked', async () => {
  onGet = () => lost.abort();
  expect(await outcomeAfter(() => watching?.onList([madeAt(10)], 10))).toBe('LEASE_LOST');
  // the key goes with the lease, and may be another's by now
  expect(deleted).toEqual([]);
});

test('who stops, or loses its lease, while it waits leaves no watch behind', async () => {
  const stop = new AbortController();
  const rival = () => watching?.onList([madeAt(4, `${PREFIX}3`), madeAt(10)], 10);
  const stopped = () => {
    rival();
    expect(watching).toBeDefined();
    stop.abort(new Error('enough'));
  };
  expect(await outcomeAfter(stopped, stop.signal)).toBe('CANCELLED');
  expect([watching, deleted]).toEqual([undefined, [KEY]]);
  const ended = () => {
    rival();
    lost.abort();
  };
  expect(await outcomeAfter(ended)).toBe('LEASE_LOST');
  expect(watching).toBeUndefined();
  // one that has ended by then
  expect(await begin()).toBe('LEASE_LOST');
  expect([watching, deleted]).toEqual([undefined, [KEY]]);
});
