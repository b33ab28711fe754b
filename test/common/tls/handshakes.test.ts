import { beforeEach, describe, expect, test, vi } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { Handshakes, type Newcomer } from '../../../src/common/tls/handshakes.ts';
import { ManualClock } from '../../datanode/raftlog/manual-clock.ts';

const most = limits.tlsHandshakesMax;
const slowMs = limits.tlsHandshakeSlowMs;

let clock: ManualClock;
let handshakes: Handshakes;
let began: string[];
let gone: string[];
let room: number;

beforeEach(() => {
  clock = new ManualClock();
  [began, gone, room] = [[], [], 100_000];
  handshakes = new Handshakes({ clock, room: () => room });
});

function newcomer(name: string, keeps = false): Newcomer {
  return {
    begin: () => void began.push(name),
    letGo: (reason) => void gone.push(`${name}: ${reason}`),
    isSilent: () => keeps,
  };
}

/** Comes, and asks for a handshake. */
function comes(name: string): Newcomer {
  const one = newcomer(name);
  handshakes.add(one);
  handshakes.ask(one);
  return one;
}

/** Until so much time has passed. */
async function pass(ms: number): Promise<void> {
  let over = false;
  clock.setTimer(ms, () => {
    over = true;
  });
  while (!over) await clock.step();
}

describe('handshakes', () => {
  test('begin at once while there is room, and then in turn as others end', () => {
    const first = comes('first');
    for (let at = 1; at < most; at++) comes(`${at}`);
    const late = comes('late');
    comes('later');
    expect(began.length).toBe(most);
    handshakes.remove(first);
    expect(began.at(-1)).toBe('late');
    handshakes.remove(late);
    expect(began.at(-1)).toBe('later');
    expect(gone).toEqual([]);
  });

  test('that take long make room for those who wait, and for nobody else', async () => {
    for (let at = 0; at < most; at++) comes(`${at}`);
    await pass(slowMs + 1);
    expect(gone).toEqual([]);
    comes('next');
    await pass(1);
    expect(gone).toEqual([`0: no handshake within ${slowMs} ms, and others wait`]);
    expect(began.at(-1)).toBe('next');
  });

  test('of a flood keep nobody waiting for longer than they may take', async () => {
    for (let at = 0; at < 2 * most; at++) comes(`${at}`);
    comes('honest');
    expect(began).not.toContain('honest');
    await pass(slowMs + 1);
    expect(began.length).toBe(2 * most);
    await pass(slowMs + 1);
    expect(began).toContain('honest');
    expect(handshakes.size).toBeLessThanOrEqual(most + 1);
  });

  test('whose end was not read yet, as the process stood still, are not taken for slow', async () => {
    const all = Array.from({ length: most }, (_, at) => comes(`${at}`));
    comes('next');
    clock.spend(2 * slowMs);
    // its timers come first, and then what its sockets have
    await clock.step();
    for (const one of all.slice(1)) handshakes.remove(one);
    await pass(1);
    expect(gone).toEqual([]);
    expect(began.at(-1)).toBe('next');
  });

  test('that wait have one timer together until one makes room', async () => {
    for (let at = 0; at < most + 50; at++) comes(`${at}`);
    await pass(slowMs / 2);
    for (let at = 0; at < 50; at++) comes(`late ${at}`);
    const timers = vi.spyOn(clock, 'setTimer');
    for (let at = 0; at < 50; at++) comes(`later ${at}`);
    // each has its own, until when it has to be done
    expect(timers).toHaveBeenCalledTimes(50);
  });

  test('that never end are ended in time', async () => {
    comes('stuck');
    const silent = newcomer('silent');
    handshakes.add(silent);
    await pass(limits.tlsHandshakeMs - 1);
    expect(gone).toEqual([]);
    await pass(2);
    const ms = limits.tlsHandshakeMs;
    expect(gone).toEqual([
      `stuck: no handshake within ${ms} ms`,
      `silent: not a byte within ${ms} ms`,
    ]);
    expect(handshakes.size).toBe(0);
  });

  test('whose bytes were not read yet, as the process stood still, are not taken for late', async () => {
    const ended = comes('ended');
    const begun = newcomer('begun', true);
    handshakes.add(begun);
    clock.spend(2 * limits.tlsHandshakeMs);
    // its timers come first, and then what its sockets have
    await clock.steps(2);
    handshakes.remove(ended);
    handshakes.ask(begun);
    await pass(limits.tlsHandshakeMs - 1);
    expect([gone, began]).toEqual([[], ['ended', 'begun']]);
    await pass(2);
    expect(gone).toEqual([`begun: no handshake within ${limits.tlsHandshakeMs} ms`]);
  });

  test('who says nothing may be kept, and is counted no more', async () => {
    handshakes.add(newcomer('idle', true));
    await pass(limits.tlsHandshakeMs + 1);
    expect([gone, handshakes.size]).toEqual([[], 0]);
  });
});

test('where there is no room, the oldest makes it', () => {
  room = 2;
  for (const name of ['a', 'b', 'c']) handshakes.add(newcomer(name));
  expect(gone).toEqual(['a: others came, and there was no room']);
  expect(handshakes.size).toBe(2);
  room = 0;
  handshakes.add(newcomer('d'));
  expect(gone).toHaveLength(2);
});

test('who is served or gone leaves nothing behind', async () => {
  const one = comes('one');
  handshakes.remove(one);
  handshakes.remove(one);
  handshakes.ask(one);
  expect(await clock.step()).toBe(false);
  expect([began, gone, handshakes.size]).toEqual([['one'], [], 0]);
});
