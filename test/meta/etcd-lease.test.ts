/** When a lease counts as lost by its holder's clock, and which streams are left open. */
import { EventEmitter } from 'node:events';
import { beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/common/log.ts';
import type { EtcdConnection } from '../../src/meta/etcd-connection.ts';
import { EtcdLease } from '../../src/meta/etcd-lease.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';

const TTL_MS = 10_000;

class FakeStream extends EventEmitter {
  sent = 0;
  ended = false;

  write(): void {
    this.sent++;
  }

  end(): void {
    this.ended = true;
  }

  answer(ttl = TTL_MS / 1_000): void {
    this.emit('data', { header: { cluster_id: '1', revision: '1' }, TTL: String(ttl) });
  }
}

let clock: ManualClock;
let streams: FakeStream[];
/** How long the store takes to grant, and to open a stream. */
let grantMs: number;
let openMs: number;
let admit: () => void;

const later = (ms: number) =>
  new Promise<void>((resolve) => {
    clock.setTimer(ms, resolve);
  });

beforeEach(() => {
  clock = new ManualClock();
  streams = [];
  [grantMs, openMs] = [0, 0];
  admit = () => {};
});

async function grant(): Promise<EtcdLease> {
  const leaseClient = {
    leaseGrant: async () => {
      await later(grantMs);
      return { ID: '7' };
    },
    leaseKeepAlive: async () => {
      await later(openMs);
      const stream = new FakeStream();
      streams.push(stream);
      return stream;
    },
    leaseRevoke: async () => {},
  };
  const call = (_what: string, ask: (options: object) => Promise<unknown>) => ask({});
  const connection = {
    ...{ clock, call, client: { leaseClient }, logger: silentLogger },
    admit: () => admit(),
  };
  return clock.until(EtcdLease.grant(connection as unknown as EtcdConnection, TTL_MS));
}

/** Runs what is due by then; the last timer may be later. */
async function until(ms: number): Promise<void> {
  let over = false;
  clock.setTimer(ms - clock.monotonicMs(), () => {
    over = true;
  });
  while (!over && (await clock.step()));
}

test('a lease is lost a tenth of its time before the store can end it, counted from the asking', async () => {
  grantMs = 3_000;
  const lease = await grant();
  await until(8_900);
  expect(lease.lost.aborted).toBe(false);
  await until(9_001);
  expect(lease.lost.aborted).toBe(true);
});

test('each answer counts from when its keep-alive was sent', async () => {
  const lease = await grant();
  await until(3_400);
  expect(streams.map(({ sent }) => sent)).toEqual([1]);
  // sent at 3,333, answered late
  await until(6_500);
  streams[0]!.answer();
  await until(12_300);
  expect(lease.lost.aborted).toBe(false);
  await until(12_400);
  expect(lease.lost.aborted).toBe(true);
});

test('a member that does not answer for an interval is left, and what it says then is for nobody', async () => {
  const lease = await grant();
  await until(6_700);
  expect(streams.map(({ ended, sent }) => [ended, sent])).toEqual([
    [true, 1],
    [false, 1],
  ]);
  streams[0]!.answer();
  await until(9_001);
  expect(lease.lost.aborted).toBe(true);
});

test('the answer of another stream than the one asked last renews nothing', async () => {
  const lease = await grant();
  await until(6_700);
  const [first, second] = streams;
  second!.emit('end');
  first!.answer();
  second!.answer();
  await until(9_001);
  expect(lease.lost.aborted).toBe(true);
});

test.each([
  ['says that it has ended', () => streams[0]!.answer(0)],
  [
    'is another one',
    () => {
      admit = () => {
        throw new Error('not the one this process has known');
      };
      streams[0]!.answer();
    },
  ],
])('it is lost at once when the store %s, and its stream is closed', async (_, told) => {
  const lease = await grant();
  await until(3_400);
  told();
  expect([lease.lost.aborted, streams[0]!.ended]).toEqual([true, true]);
  await until(20_000);
  expect(streams.map(({ sent }) => sent)).toEqual([1]);
});

test('an answer that comes when its time is over renews nothing, nor is the next asked for', async () => {
  const lease = await grant();
  await until(3_400);
  // it was sent in time, but nobody looked at the clock until now
  clock.spend(6_000);
  streams[0]!.answer();
  expect(lease.lost.aborted).toBe(true);
  await until(30_000);
  expect(streams.map(({ sent, ended }) => [sent, ended])).toEqual([[1, true]]);
});

test('a stream that opens once it is over is closed', async () => {
  openMs = 2_000;
  const lease = await grant();
  await until(3_400);
  await lease.revoke();
  expect(lease.lost.aborted).toBe(true);
  await until(6_000);
  expect(streams.map(({ sent, ended }) => [sent, ended])).toEqual([[0, true]]);
});

test('it is kept over any number of streams that break, each answer being for its own asking', async () => {
  const lease = await grant();
  let nowMs = 100;
  for (let round = 0; round < 6; round++) {
    nowMs += 3_334;
    await until(nowMs);
    streams.at(-1)!.emit('error', new Error('broken'));
    nowMs += 3_334;
    await until(nowMs);
    streams.at(-1)!.answer();
    expect(lease.lost.aborted).toBe(false);
  }
  expect(streams.length).toBe(7);
});
