import { beforeEach, expect, test } from 'vitest';
import type { ClientBuffers } from '../../../src/datanode/commands/rows/node-context.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import { RateMeter } from '../../../src/datanode/server/rates.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

let clock: ManualClock;
let stats: ServerStats;
let heapBytes: number;
let buffers: ClientBuffers;
let clients: number;
let meter: RateMeter;
beforeEach(() => {
  clock = new ManualClock();
  stats = new ServerStats();
  heapBytes = 100;
  buffers = { inputBytes: 0, outputBytes: 0 };
  clients = 1;
  meter = new RateMeter(clock, stats, {
    heapBytes: () => heapBytes,
    clientBuffers: () => buffers,
    clients: () => clients,
  });
});

/** Each step is 250 ms. */
async function quarters(count: number, commandsEach: number) {
  for (let at = 0; at < count; at++) {
    for (let command = 0; command < commandsEach; command++) stats.count('get', 1, OK);
    stats.inputBytes += 1_000;
    await clock.step();
  }
}

test('tells the rate of the last two seconds, whatever was before', async () => {
  meter.start();
  expect(meter.rates().commandsPerSecond).toBe(0);
  await quarters(40, 100);
  expect(meter.rates().commandsPerSecond).toBe(400);
  expect(meter.rates().inputBytesPerSecond).toBe(4_000);
  await quarters(4, 0);
  expect(meter.rates().commandsPerSecond).toBe(200);
  await quarters(4, 0);
  expect(meter.rates().commandsPerSecond).toBe(0);
});

test('tells of the last moments also where nobody was there for long', async () => {
  clients = 0;
  meter.start();
  await quarters(8, 0);
  for (let second = 0; second < 20; second++) await clock.step();
  clients = 1;
  meter.noticeClient();
  await quarters(4, 250);
  expect(meter.rates().commandsPerSecond).toBeGreaterThanOrEqual(330);
  await quarters(4, 250);
  expect(meter.rates().commandsPerSecond).toBe(1_000);
});

test('never goes below zero when the counters begin anew', async () => {
  meter.start();
  await quarters(8, 10);
  stats.reset();
  meter.reset();
  expect(meter.rates().commandsPerSecond).toBe(0);
  await quarters(4, 5);
  expect(meter.rates().commandsPerSecond).toBe(20);
});

test('remembers the most memory any sample met, and stops', async () => {
  meter.start();
  heapBytes = 900;
  await clock.step();
  heapBytes = 300;
  await clock.step();
  expect(meter.peakHeapBytes).toBe(900);
  meter.stop();
  expect(await clock.step()).toBe(false);
});

test('tells the largest buffers of the last two seconds, each for itself', async () => {
  meter.start();
  buffers = { inputBytes: 500, outputBytes: 10 };
  await clock.step();
  buffers = { inputBytes: 20, outputBytes: 700 };
  await clock.step();
  buffers = { inputBytes: 0, outputBytes: 0 };
  await clock.step();
  expect(meter.clientBuffers()).toEqual({ inputBytes: 500, outputBytes: 700 });
  await quarters(9, 0);
  expect(meter.clientBuffers()).toEqual({ inputBytes: 0, outputBytes: 0 });
});

test('samples once a second while nobody is here, and at once when a client comes', async () => {
  meter.start();
  await quarters(8, 10);
  clients = 0;
  for (let at = 0; at < 9; at++) await clock.step();
  const sinceMs = clock.monotonicMs();
  heapBytes = 5_000;
  await clock.step();
  expect(clock.monotonicMs() - sinceMs).toBe(1_000);
  expect(meter.peakHeapBytes).toBe(5_000);
  expect(meter.rates().commandsPerSecond).toBe(0);
  clock.spend(400);
  clients = 1;
  meter.noticeClient();
  await quarters(1, 10);
  expect(clock.monotonicMs() - sinceMs).toBe(1_650);
  await quarters(8, 10);
  expect(meter.rates().commandsPerSecond).toBe(40);
});
