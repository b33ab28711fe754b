import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { inTerminal } from '../../bench/sheet.ts';
import { judgeLatency, type TimedRow, timedReport } from '../../bench/timed.ts';
import { openPlaces, TimedClients } from '../../bench/timed-clients.ts';
import type { TimedLoad } from '../../bench/timed-load-words.ts';
import { zipf } from '../../bench/zipf.ts';

let server: Server | undefined;
afterEach(() => server?.close());

const requestsIn = (chunk: Buffer) => chunk.toString().split('*3\r\n').length - 1;

/** Answers every request with OK, the first of them late. */
async function startServer(firstAfterMs: number): Promise<number> {
  let openAt: number | undefined;
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      openAt ??= performance.now() + firstAfterMs;
      const requests = requestsIn(chunk);
      const wait = openAt - performance.now();
      const answer = () => socket.write('+OK\r\n'.repeat(requests));
      if (wait > 0) setTimeout(answer, wait);
      else answer();
    });
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return (server!.address() as AddressInfo).port;
}

const loadOf = (port: number, perSecond: number): TimedLoad => ({
  ...{ port, cluster: false, getShare: 0, draw: 'even', perSecond, clients: 4, valueBytes: 10 },
  ...{ keySpace: 100, warmSeconds: 0, seconds: 1 },
});

describe('requests at a fixed rate', () => {
  test('who stands still is charged for everybody who would have waited', async () => {
    const load = loadOf(await startServer(500), 400);
    const clients = new TimedClients(load, await openPlaces(load));
    await clients.run(1);
    clients.close();
    expect(clients.latencies).toHaveLength(400);
    const sorted = [...clients.latencies].sort((a, b) => a - b);
    // A closed loop would have counted four late answers: here half of all were due meanwhile.
    expect(sorted.filter((ms) => ms > 100).length).toBeGreaterThan(100);
    expect(sorted.at(-1)).toBeGreaterThan(450);
  });

  test('it is told how many GETs found their key', async () => {
    let asked = 0;
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        const gets = chunk.toString().split('GET').length - 1;
        for (let at = 0; at < gets; at++)
          socket.write(asked++ % 4 === 0 ? '$1\r\nx\r\n' : '$-1\r\n');
      });
    });
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    const load = { ...loadOf((server.address() as AddressInfo).port, 400), getShare: 1 };
    const clients = new TimedClients(load, await openPlaces(load));
    expect(clients.foundShare).toBeUndefined();
    await clients.run(1);
    clients.close();
    expect(clients.foundShare).toBe(0.25);
    clients.forget();
    expect(clients.foundShare).toBeUndefined();
  });

  test('an error of the server ends the load', async () => {
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.end('-ERR no\r\n'));
    });
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    const load = loadOf((server.address() as AddressInfo).port, 0);
    const clients = new TimedClients(load, await openPlaces(load));
    await expect(clients.run(5)).rejects.toThrow(/ERR no|closed/);
    clients.close();
  });

  test('keys that move are asked for where they are, and none is left out', async () => {
    const home = await startServer(0);
    let moved = 0;
    const before = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        const requests = requestsIn(chunk);
        moved += requests;
        socket.write(`-MOVED 1 127.0.0.1:${home}\r\n`.repeat(requests));
      });
    });
    await new Promise<void>((resolve) => before.listen(0, '127.0.0.1', resolve));
    const load = loadOf((before.address() as AddressInfo).port, 400);
    const clients = new TimedClients(load, await openPlaces(load));
    await clients.run(1);
    clients.close();
    before.close();
    expect(clients.latencies).toHaveLength(400);
    expect(moved).toBeGreaterThan(0);
    // known from the first answer on
    expect(moved).toBeLessThan(100);
  });

  test('a circle of nodes that send on ends the load', async () => {
    let port = 0;
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        socket.write(`-MOVED 1 127.0.0.1:${port}\r\n`.repeat(requestsIn(chunk)));
      });
    });
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    const clients = new TimedClients(loadOf(port, 0), await openPlaces(loadOf(port, 0)));
    await expect(clients.run(5)).rejects.toThrow(/MOVED 1/);
    clients.close();
  });
});

test('Zipf: the first key is asked for most, and every one is below the count', () => {
  const draw = zipf(1_000);
  const counts = new Map<number, number>();
  for (let i = 0; i < 100_000; i++) {
    const key = draw((i + 0.5) / 100_000);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const keys = [...counts.keys()];
  expect(Math.min(...keys)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...keys)).toBeLessThan(1_000);
  // Half as often the second, by and large: the weights are those of a continuous density.
  expect(counts.get(0)! / counts.get(1)!).toBeGreaterThan(1.4);
  expect(counts.get(0)! / counts.get(99)!).toBeGreaterThan(40);
});

const shown = (rows: readonly TimedRow[]) => timedReport(rows).flatMap(inTerminal);

describe('the report', () => {
  const row = (door: TimedRow['door'], rate: number, p99Ms: number): TimedRow => ({
    ...{ round: 1, system: 'kvorum', door, name: 'SET', rate, perSecond: rate },
    ...{ p50Ms: 1, p99Ms, p999Ms: 20, usage: { seconds: 1, servers: {}, load: 1, otherCores: 0 } },
  });

  test('shows a line per rate and door, and who did not keep up', () => {
    const slow = { ...row('kvorum cluster', 2_000, 900), perSecond: 1_500 };
    const lines = shown([row('kvorum cluster', 1_000, 4), slow, row('redis', 1_000, 2)]);
    expect(lines.slice(3).map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['kvorum cluster', '1,000', '1,000', '1.00', '4.00', '20.0'],
      ['redis', '1,000', '1,000', '1.00', '2.00', '20.0'],
      ['kvorum cluster', '2,000', '1,500', '1.00', '900', '20.0', 'not kept up'],
    ]);
  });

  test('judges the highest rate up to half the peak that both were asked for', () => {
    const rows = [
      ...[row('kvorum cluster', 1_000, 4), row('redis', 1_000, 2)],
      ...[row('kvorum cluster', 4_000, 9), row('redis', 4_000, 3), row('redis', 8_000, 3)],
    ];
    expect(judgeLatency(rows, 17_000).measured).toBe(3);
    expect(judgeLatency(rows, 7_000).measured).toBe(2);
    expect(judgeLatency(rows, 1_000).measured).toBeUndefined();
  });
});
