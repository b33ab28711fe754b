/** Who is told what, and when: a hub whose partition's changes and answers the test gives. */
import { beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import type { TrackingOptions } from '../../../src/datanode/commands/connection/tracking-port.ts';
import type { CommandBatch, LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import type {
  ChangedKeys,
  ChangesAnswer,
} from '../../../src/datanode/partition/entries/changes.ts';
import type { Router } from '../../../src/datanode/routing/router.ts';
import { type TrackedItem, TrackingHub } from '../../../src/datanode/tracking/hub.ts';
import type { TrackedClient } from '../../../src/datanode/tracking/tracked-client.ts';
import { FakeSession } from '../commands/fake-node.ts';

const plain: TrackingOptions = {
  ...{ redirect: undefined, broadcast: false, prefixes: [] },
  ...{ optIn: false, optOut: false, noLoop: false },
};

/** So much later than it is. */
let laterMs = 0;
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() + laterMs,
};

let keysMax = 0;
let hub: TrackingHub;
let session: FakeSession;
let answerChanges: (answer: ChangesAnswer) => void;
let answerCommands: (results: readonly LineResult[]) => void;
let upTo: number;
let closedFeeds = 0;
/** Whether the first question is answered at once. */
let opens: boolean;

beforeEach(() => {
  laterMs = 0;
  keysMax = 0;
  upTo = 10;
  opens = true;
  let asked = 0;
  closedFeeds = 0;
  const router = {
    changes: {
      ask: async (): Promise<ChangesAnswer> => {
        if (asked++ === 0 && opens)
          return { kind: 'told', upTo, anew: true, proven: true, changes: [] };
        return new Promise((resolve) => {
          answerChanges = resolve;
        });
      },
    },
    routes: {
      onLeader: () => () => closedFeeds++,
      groupOf: () => 7,
      partitions: () => [{ partition: 0, group: 7 }],
    },
    isLocalFollower: () => false,
    execute: () =>
      new Promise<readonly LineResult[]>((resolve) => {
        answerCommands = resolve;
      }),
  };
  hub = new TrackingHub({
    clock,
    router: router as unknown as Router,
    keysMax: () => keysMax,
  });
  session = new FakeSession(1, 'gateway');
  session.protocol = 3;
  return () => hub.close();
});

/** One read of `key` that has seen the log up to `index`; `under`: before its reply, `before`: before it runs. */
async function run(
  text: string,
  index: number,
  at = -1,
  under = async () => {},
  before = async () => {},
): Promise<void> {
  const line = text.split(' ').map((word) => Buffer.from(word));
  const kind = /^(get|mget)/i.test(text) ? 'read' : 'write';
  const items: TrackedItem[] = [{ line, tracks: true }];
  const batch = {
    ...{ namespace: 'default', partition: 0, group: 7, kind, lines: [line] },
    ...{ protocol: 3, term: undefined, deadlineMs: Number.POSITIVE_INFINITY },
  } as CommandBatch;
  const results = hub.execute(session, batch, items, false);
  await turns();
  await before();
  await under();
  const witness = { term: 1, index, upTo: index, at };
  answerCommands([{ ok: true, reply: { kind: 'simple', text: 'OK' }, witness }]);
  await results;
  hub.handedOver(session, items);
}

async function changed(
  index: number,
  keys: string,
  more: Partial<ChangedKeys> = {},
): Promise<void> {
  upTo = index;
  const named = keys.split(' ').map((key) => Buffer.from(key));
  const change = { index, alone: true, all: false, keys: named, ...more };
  answerChanges({ kind: 'told', upTo, anew: false, proven: true, changes: [change] });
  await turns();
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function told(): string[] {
  const texts = session.invalidations.splice(0).map((one) => one.encoded(3).toString());
  return texts.map((text) =>
    text.endsWith('_\r\n')
      ? 'all'
      : text
          .split('\r\n')
          .slice(5, -1)
          .filter((_, at) => at % 2 === 0)
          .join(),
  );
}

test('a key that was read is told of once, when it changed behind what was read', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  await changed(11, 'a');
  expect(told()).toEqual([]);
  await changed(12, 'a b');
  await changed(13, 'a');
  expect(told()).toEqual(['a']);
  expect(hub.info()).toMatchObject({ clients: 1, keys: 0, items: 0 });
});

test('what changes under a read is told behind its reply, unless that has seen it', async () => {
  hub.enable(session, plain);
  await run('GET a', 11, -1, async () => {
    await changed(12, 'a');
    expect(told()).toEqual([]);
  });
  expect(told()).toEqual(['a']);
  await run('GET a', 13, -1, () => changed(13, 'a'));
  expect(told()).toEqual([]);
  expect(hub.info()).toMatchObject({ keys: 1, items: 1 });
});

test('a value from before is ended at once, and what comes then behind its reply', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  await run('GET a', 11, -1, async () => {
    await changed(12, 'a');
    expect(told()).toEqual(['a']);
  });
  expect(told()).toEqual(['a']);
});

test('what another command of the client has seen already ends what it had before', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  // its caches are by command: this reply replaces nothing
  await run('MGET a b', 12);
  expect(told()).toEqual([]);
  await changed(12, 'a');
  expect(told()).toEqual(['a']);
  await run('GET a', 12);
  await changed(12, 'a');
  expect(told()).toEqual([]);
});

test('what it writes itself is told behind the reply, and with NOLOOP not at all', async () => {
  for (const noLoop of [false, true]) {
    hub.enable(session, { ...plain, noLoop });
    await run('GET a', upTo);
    const own = upTo + 1;
    await run('SET a 1', own, 0, async () => {
      await changed(own, 'a');
      expect(told()).toEqual([]);
    });
    expect(told()).toEqual(noLoop ? [] : ['a']);
  }
  // it may have been others' commands of the same entry as well
  await run('GET a', upTo);
  const own = upTo + 1;
  await run('SET a 1', own, 0, () => changed(own, 'a', { alone: false }));
  expect(told()).toEqual(['a']);
});

test('a script that changes what it may have read is the own write of its client', async () => {
  for (const noLoop of [false, true]) {
    hub.enable(session, { ...plain, noLoop });
    const own = upTo + 1;
    await run('EVAL x 1 a', own, 0, () => changed(own, 'a'));
    expect(told()).toEqual(noLoop ? [] : ['a']);
  }
  await changed(upTo + 1, 'a');
  expect(told()).toEqual(['a']);
});

test('a write takes no room in the table', async () => {
  keysMax = 1;
  hub.enable(session, plain);
  await run('GET a', 11);
  await run('SET b 1', 12);
  expect(told()).toEqual([]);
  await run('GET b', 12);
  expect(told()).toEqual(['a']);
});

test('who missed something forgets all, and is told nothing of what it had', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  await run('GET b', 11, -1, async () => {
    answerChanges({ kind: 'told', upTo: 20, anew: true, proven: true, changes: [] });
    await turns();
    expect(told()).toEqual(['all']);
  });
  expect(told()).toEqual(['b']);
  await changed(21, 'a b');
  expect(told()).toEqual([]);
});

test('an emptied partition is all', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  await changed(12, 'x', { all: true });
  expect(told()).toEqual(['all']);
  await changed(13, 'x', { all: true });
  expect(told()).toEqual([]);
});

test('beyond the table the oldest keys are told of as if they had changed', async () => {
  keysMax = 2;
  hub.enable(session, plain);
  for (const key of ['a', 'b', 'c']) await run(`GET ${key}`, 11);
  expect(told()).toEqual(['a']);
  expect(hub.info()).toMatchObject({ keys: 2, items: 2 });
});

test('whom it redirects to is told, and when that has gone the client itself hears of it', async () => {
  const other = new FakeSession(2, 'gateway');
  hub.enable(session, { ...plain, redirect: other });
  other.protocol = 3;
  await run('GET a', 11);
  await changed(12, 'a');
  expect(other.invalidations).toHaveLength(1);
  expect(told()).toEqual([]);
  await run('GET a', 12);
  other.subscriber.ended = true;
  await changed(13, 'a');
  expect(session.invalidations[0]!.encoded(3).toString()).toBe(
    '>2\r\n$21\r\ntracking-redir-broken\r\n:2\r\n',
  );
  expect(session.tracking?.isBroken).toBe(true);
});

test('who tracks no more is told nothing', async () => {
  hub.enable(session, plain);
  await run('GET a', 11);
  const client = session.tracking as TrackedClient;
  hub.disable(session);
  // of a key that never changes it is in the table yet, a million of its like maybe
  expect([hub.info().keys, client.session]).toEqual([1, undefined]);
  await changed(12, 'a');
  expect(told()).toEqual([]);
  expect(hub.info()).toMatchObject({ clients: 0, keys: 0 });
});

test('who goes while a read waits for its partition to be followed leaves nothing', async () => {
  opens = false;
  hub.enable(new FakeSession(2, 'gateway'), plain);
  hub.enable(session, plain);
  await run(
    'GET a',
    11,
    -1,
    async () => {},
    async () => {
      hub.disable(session);
      answerChanges({ kind: 'told', upTo, anew: true, proven: true, changes: [] });
      await turns();
    },
  );
  expect(hub.info()).toMatchObject({ clients: 1, keys: 0, items: 0 });
});

test('clients that come, read the same key and go are not kept', async () => {
  hub.enable(new FakeSession(2, 'gateway'), plain);
  for (let id = 3; id < 13; id++) {
    session = new FakeSession(id, 'gateway');
    hub.enable(session, plain);
    await run('GET a', 11);
    hub.disable(session);
  }
  expect(hub.info()).toMatchObject({ clients: 1, keys: 1, items: 1 });
});

test('a partition is followed as long as a client that is there may have something of it', async () => {
  const other = session;
  hub.enable(other, plain);
  session = new FakeSession(2, 'gateway');
  session.protocol = 3;
  hub.enable(session, plain);
  await run('GET a', 11);
  // each answer proves what was known when it was asked for, a step before
  const pass = async (untilMs: number) => {
    for (; laterMs < untilMs; laterMs += 2_000) await changed(11, 'x');
    await changed(11, 'x');
    await new Promise((resolve) => setTimeout(resolve, 300));
  };
  await pass(32_000);
  expect(told()).toEqual([]);
  expect(closedFeeds).toBe(0);
  hub.disable(session);
  await pass(64_000);
  expect(closedFeeds).toBe(1);
  expect(hub.info()).toMatchObject({ clients: 1, keys: 0, items: 0 });
});

test('who tracks by prefix is told of each of its prefixes, also of none, and not of others', async () => {
  const prefixes = ['', 'us', 'user:1:', 'user:2:', 'x'].map((name) => Buffer.from(name));
  const clients = prefixes.map((prefix, at) => {
    const one = new FakeSession(10 + at, 'gateway');
    one.protocol = 3;
    hub.enable(one, { ...plain, broadcast: true, prefixes: [prefix] });
    return one;
  });
  const toldBy = () =>
    clients.map((one) => {
      session = one;
      return told().join(' ');
    });
  await turns();
  await changed(12, 'user:1:a user:22 u user:2:b user:1:a');
  expect(toldBy()).toEqual([
    'u,user:1:a,user:22,user:2:b',
    'user:1:a,user:22,user:2:b',
    ...['user:1:a', 'user:2:b', ''],
  ]);
  expect(hub.info().prefixes).toBe(5);
  for (const one of clients.slice(1)) hub.disable(one);
  await changed(13, 'user:1:c');
  expect(toldBy()).toEqual(['user:1:c', '', '', '', '']);
  expect(hub.info().prefixes).toBe(1);
});

test('who is let go in the midst of what it is told takes nobody else along', async () => {
  const slow = new FakeSession(10, 'gateway');
  slow.protocol = 3;
  slow.invalidate = () => hub.disable(slow);
  const both = [Buffer.from('a'), Buffer.from('b')];
  hub.enable(slow, { ...plain, broadcast: true, prefixes: both });
  session.protocol = 3;
  hub.enable(session, { ...plain, broadcast: true, prefixes: [Buffer.from('c')] });
  await turns();
  await changed(12, 'a1 b1 c1');
  expect(told()).toEqual(['c1']);
});
