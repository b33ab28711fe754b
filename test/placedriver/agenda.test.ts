import { beforeEach, expect, test } from 'vitest';
import type { Clock } from '../../src/common/clock.ts';
import { Agenda } from '../../src/placedriver/agenda.ts';

/** Time that the test moves; the moments at which a run began. */
let nowMs: number;
let timers: { atMs: number; run: () => void }[];
let began: number[];
let finish: (() => void)[];
let agenda: Agenda;

const clock: Clock = {
  monotonicMs: () => nowMs,
  wallMs: () => nowMs,
  setTimer(delayMs, run) {
    const timer = { atMs: nowMs + delayMs, run };
    timers.push(timer);
    return { cancel: () => timers.splice(0, timers.length, ...timers.filter((t) => t !== timer)) };
  },
  endOfTurn: (run) => run(),
};

beforeEach(() => {
  nowMs = 0;
  timers = [];
  began = [];
  finish = [];
  agenda = new Agenda(clock, () => {
    began.push(nowMs);
    return new Promise((resolve) => finish.push(resolve));
  });
});

async function until(ms: number): Promise<void> {
  while (true) {
    const next = timers.filter(({ atMs }) => atMs <= ms).sort((a, b) => a.atMs - b.atMs)[0];
    nowMs = next?.atMs ?? ms;
    if (next === undefined) return;
    timers.splice(timers.indexOf(next), 1);
    next.run();
    await Promise.resolve();
  }
}

async function done(): Promise<void> {
  finish.shift()!();
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test('a crowd that asks is one run, at the earliest moment, with one timer', async () => {
  for (let at = 0; at < 1_000; at++) agenda.ask(100 + at);
  agenda.ask(50);
  agenda.ask(600_000);
  expect(timers.length).toBe(1);
  await until(700_000);
  expect(began).toEqual([50]);
  await done();
  expect(timers.length).toBe(0);
});

test('those who ask later do not put it off', async () => {
  agenda.ask(100);
  await until(99);
  agenda.ask(100);
  await until(100);
  expect(began).toEqual([100]);
});

test('what is asked for during a run is another run, after it', async () => {
  agenda.ask(0);
  await until(10);
  agenda.ask(20);
  agenda.ask(5);
  await until(100);
  expect(began).toEqual([0]);
  await done();
  await until(100);
  expect(began).toEqual([0, 100]);
  agenda.ask(50);
  await done();
  await until(200);
  expect(began).toEqual([0, 100, 150]);
});

test('stopped, it waits for the present run and begins no other', async () => {
  agenda.ask(0);
  await until(1);
  agenda.ask(0);
  let stopped = false;
  const stopping = agenda.stop().then(() => {
    stopped = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(stopped).toBe(false);
  await done();
  await stopping;
  agenda.ask(0);
  await until(1_000);
  expect(began).toEqual([0]);
});

test('a wait longer than a timer can be is a shorter one', () => {
  agenda.ask(1e12);
  expect(timers[0]!.atMs).toBe(2_147_483_647);
});
