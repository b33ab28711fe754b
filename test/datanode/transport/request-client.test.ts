/** Requests that nobody answers end when they are due, each at its own time. */
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { Link } from '../../../src/datanode/transport/link.ts';
import { RequestClient } from '../../../src/datanode/transport/request-client.ts';
import { defaultTransportSettings } from '../../../src/datanode/transport/settings.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

function client(clock: ManualClock): RequestClient {
  const made = new RequestClient('n2', clock, defaultTransportSettings);
  made.attach({ requestFlush: () => {} } as unknown as Link);
  return made;
}

test('each ends when its own time is over, whichever was asked first', async () => {
  const clock = new ManualClock();
  const requests = client(clock);
  const beganMs = clock.monotonicMs();
  const timeouts = [500, 100, 900, 300];
  const all = timeouts.map((timeoutMs) =>
    requests.request(Buffer.alloc(1), timeoutMs).catch((error: Error) => {
      expect(error.message).toBe(`no answer from n2 within ${timeoutMs} ms`);
      return clock.monotonicMs() - beganMs;
    }),
  );
  while (await clock.step());
  expect(await Promise.all(all)).toEqual(timeouts);
});

test('when the connection ends nothing is looked at any more', async () => {
  const clock = new ManualClock();
  const requests = client(clock);
  const lost = requests.request(Buffer.alloc(1), 1_000);
  requests.detach();
  await expect(lost).rejects.toThrow('connection to n2 ended');
  expect(await clock.step()).toBe(false);
});

test('thousands whose connection ends are told by one error', async () => {
  const requests = client(new ManualClock());
  const asked = Array.from({ length: 3 }, () => requests.request(Buffer.alloc(1), 1_000));
  requests.detach();
  const told = await Promise.all(asked.map((one) => one.catch((error: Error) => error)));
  expect(new Set(told).size).toBe(1);
  expect(told[0]).toMatchObject({ code: 'PEER_UNREACHABLE' });
});

test('one that is due in less than a timer knows waits for a whole millisecond', () => {
  const delays: number[] = [];
  const clock = Object.assign(new ManualClock(), {
    monotonicMs: () => 0.7,
    setTimer: (delayMs: number) => {
      delays.push(delayMs);
      return { cancel: () => {} };
    },
  });
  const requests = client(clock);
  for (const timeoutMs of [40, 1e-9]) requests.request(Buffer.alloc(1), timeoutMs).catch(() => {});
  expect(delays).toEqual([40, 1]);
});

test('more is sent once what the peer has to answer leaves room, but for what it parks', async () => {
  const sent: number[] = [];
  let flushes = 0;
  const link = { congested: false, requestFlush: () => flushes++, write: () => {} };
  const settings = { ...defaultTransportSettings, queueBytesMax: 1_000 };
  const requests = new RequestClient('n2', new ManualClock(), settings);
  requests.attach(link as unknown as Link);
  const gone = new AbortController();
  const ask = (bytes: number, parks = false, signal?: AbortSignal) =>
    requests.request(Buffer.alloc(bytes), 1_000, signal, parks).catch(({ code }) => code);
  const flush = () => {
    const writes: number[] = [];
    link.write = () => writes.push(1);
    expect(requests.flush(link as unknown as Link)).toBe(false);
    sent.push(writes.length);
  };
  const all = [ask(100, true), ask(450, false, gone.signal), ask(100), ask(40)];
  flush(); // one of any size, beside what is parked
  expect(requests.unansweredBytes).toBe(590);
  flushes = 0;
  gone.abort();
  expect(flushes).toBe(1);
  flush();
  expect(sent).toEqual([2, 2]);
  requests.detach();
  expect(requests.unansweredBytes).toBe(0);
  expect(await Promise.all(all)).toEqual([
    'CONNECTION_LOST',
    'OUTCOME_UNKNOWN',
    'CONNECTION_LOST',
    'CONNECTION_LOST',
  ]);
});

test('one that fits no frame is refused at once, and its sender told that it never will', async () => {
  const requests = client(new ManualClock());
  const sent = requests.request(Buffer.alloc(limits.frameBytesMax), 1_000);
  await expect(sent).rejects.toMatchObject({ code: 'TOO_LARGE' });
});
