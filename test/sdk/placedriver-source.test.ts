/** Which placedriver is asked, and which answer counts. */
import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { seededRandom } from '../../src/common/random.ts';
import { fetchGet, type HttpGet, PlacedriverSource } from '../../src/sdk/placedriver-source.ts';
import { SimClock } from '../sim/clock.ts';
import { Scheduler } from '../sim/scheduler.ts';
import { type ScriptedTable, scriptedPlacedriver } from './peer.ts';

/** Each placedriver tells a table of its own, is away, or hangs. */
type Script = ScriptedTable | 'away' | 'hangs';

function tableOf(epoch: number, staleMs?: number): ScriptedTable {
  return {
    epoch,
    ...(staleMs !== undefined && { staleMs }),
    nodes: [{ name: 'n0', port: 1 }],
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  };
}

function scene(scripts: Record<string, Script>) {
  const scheduler = new Scheduler(seededRandom(1));
  /** Names of those that were asked for changes, in order. */
  const asked: string[] = [];
  const get: HttpGet = async (url, signal) => {
    const { hostname, pathname } = new URL(url);
    if (pathname.startsWith('/query/')) asked.push(hostname);
    const script = scripts[hostname]!;
    if (script === 'away') throw new Error('nobody is there');
    if (script !== 'hangs') return scriptedPlacedriver(script).get(url, signal);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  };
  const addresses = Object.keys(scripts).map((name) => `${name}:1`);
  const source = new PlacedriverSource(addresses, 'default', get, new SimClock(scheduler));
  const signal = new AbortController().signal;
  /** Its epoch; undefined: nothing has changed. */
  const fetch = async (epoch: number | undefined, elsewhere = false) =>
    (await source.fetch(epoch, signal, elsewhere))?.epoch;
  return { scripts, scheduler, fetch, asked };
}

test('one that is cut off from the store does not hide what the others know', async () => {
  const { fetch, asked } = scene({ a: tableOf(1, 900), b: tableOf(2), c: tableOf(2) });
  expect(await fetch(1)).toBe(2);
  expect(asked.splice(0)).toEqual(['a', 'b']);
  expect(await fetch(2)).toBeUndefined();
  expect(asked.splice(0)).toEqual(['b']);
});

test('one that is cut off counts while no other answers', async () => {
  const { fetch, scripts, asked } = scene({ a: tableOf(1, 900), b: 'away', c: tableOf(1, 50) });
  expect(await fetch(undefined)).toBe(1);
  expect(await fetch(1)).toBeUndefined();
  expect(asked.splice(0)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  scripts['c'] = tableOf(3, 60);
  expect(await fetch(1)).toBe(3);
  // the others have not heard of it yet
  scripts['b'] = tableOf(2);
  expect(await fetch(1)).toBe(3);
  scripts['a'] = tableOf(4);
  expect(await fetch(3)).toBe(4);
});

test('a table that lacks a partition, the last one too, is none: another placedriver is asked', async () => {
  const whole = tableOf(5);
  const { fetch, asked } = scene({ a: { ...whole, partitionNum: 2 }, b: whole });
  expect(await fetch(undefined)).toBe(5);
  expect(asked).toEqual(['a', 'b']);
});

test('what one that was cut off has heard before another counts', async () => {
  const { fetch } = scene({ a: tableOf(2, 900), b: tableOf(1) });
  expect(await fetch(1)).toBe(2);
});

test('an older table counts when all have told nothing else for ten lookups', async () => {
  const { fetch, scripts } = scene({ a: tableOf(7), b: tableOf(7), c: 'away' });
  expect(await fetch(undefined)).toBe(7);
  const old = () => expect(fetch(7)).rejects.toThrow('which is old');
  scripts['a'] = tableOf(2);
  scripts['b'] = 'away';
  for (let lookup = 0; lookup < 9; lookup++) await old();
  scripts['b'] = tableOf(7);
  expect(await fetch(7)).toBeUndefined();
  scripts['b'] = tableOf(1, 900);
  for (let lookup = 0; lookup < 10; lookup++) await old();
  expect(await fetch(7)).toBe(2);
  expect(await fetch(2)).toBeUndefined();
  // nor does one that is cut off from the store bring an older one back
  scripts['a'] = 'away';
  for (let lookup = 0; lookup < 30; lookup++) await expect(fetch(2)).rejects.toThrow('old');
});

test('the one that answered last is asked first, and for a command another one', async () => {
  const { fetch, asked } = scene({ a: tableOf(1), b: tableOf(1), c: tableOf(1) });
  for (const elsewhere of [false, false, true, false, true, true]) await fetch(1, elsewhere);
  expect(asked).toEqual(['a', 'a', 'b', 'b', 'c', 'a']);
});

test('another one that does not answer keeps a command from the usual one once, not for long', async () => {
  const { fetch, scheduler, asked } = scene({ a: tableOf(1), b: 'hangs', c: 'away' });
  await fetch(undefined);
  const beganMs = scheduler.nowMs;
  let told: unknown = 'nothing';
  void fetch(0, true).then((epoch) => {
    told = epoch;
  });
  expect(await scheduler.runUntil(() => told === 1, 10_000)).toBe(true);
  expect(scheduler.nowMs - beganMs).toBe(limits.sdkOtherPlacedriverMs);
  expect(asked.splice(0)).toEqual(['a', 'b', 'c', 'a']);
  await fetch(1, true);
  await fetch(1, true);
  expect(asked.splice(0)).toEqual(['a', 'a']);
});

describe('a request over HTTP', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  async function serve(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** Signals that node keeps because of this one. */
  function dependants(signal: AbortSignal): number {
    const names = Object.getOwnPropertySymbols(signal);
    const name = names.find(({ description }) => description?.includes('ependant'));
    const kept = name && (Reflect.get(signal, name) as ReadonlySet<unknown> | undefined);
    return kept?.size ?? 0;
  }

  test('node keeps what it made of several signals in a place that this finds', () => {
    const { signal } = new AbortController();
    const any = AbortSignal.any([signal]);
    expect([dependants(signal), any.aborted]).toEqual([1, false]);
  });

  test('leaves nothing on the signal of its client, whose life is longer', async () => {
    const url = await serve((request, reply) => {
      reply.statusCode = request.url === '/' ? 200 : 304;
      reply.setHeader('kvorum-stale-ms', '5').end(request.url === '/' ? '{"epoch":1}' : undefined);
    });
    const { signal } = new AbortController();
    const get = fetchGet(30_000);
    const { status, header, json } = await get(url, signal);
    expect([status, header('kvorum-stale-ms'), header('other')]).toEqual([200, '5', undefined]);
    expect(await json()).toEqual({ epoch: 1 });
    expect((await get(`${url}same`, signal)).status).toBe(304);
    expect(dependants(signal) + getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('ends with its signal, and in time, also while the answer comes', async () => {
    const stop = new AbortController();
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const url = await serve((_, reply) => {
      reply.write('{');
      begin();
    });
    const ended = expect(fetchGet(30_000)(url, stop.signal)).rejects.toThrow('stopped');
    await begun;
    stop.abort(new Error('stopped'));
    await ended;
    await expect(fetchGet(1)(url, new AbortController().signal)).rejects.toThrow('timeout');
    await expect(fetchGet(0.5)(url, new AbortController().signal)).rejects.toThrow('timeout');
  });
});
