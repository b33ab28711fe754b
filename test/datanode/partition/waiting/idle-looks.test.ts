import { expect, test } from 'vitest';
import { IdleLooks } from '../../../../src/datanode/partition/waiting/idle-looks.ts';
import type { Waiter } from '../../../../src/datanode/partition/waiting/waiter.ts';
import { HandClock } from '../../../sdk/hand-clock.ts';

function waiterOf(group: string): Waiter {
  const form = { type: 'stream', keys: [Buffer.from('s')], timeoutMs: 0, claimIdleMs: 800 };
  return { form: { ...form, group: Buffer.from(group) } } as unknown as Waiter;
}

function scene(again: (looks: IdleLooks, waiter: Waiter) => boolean) {
  const clock = new HandClock();
  const asked: Waiter[] = [];
  const looks: IdleLooks = new IdleLooks({
    clock,
    again: (waiter) => {
      asked.push(waiter);
      return again(looks, waiter);
    },
  });
  return { clock, looks, asked };
}

test('of those who wait for the same one looks at a time, each in its turn', () => {
  const { looks, asked, clock } = scene(() => true);
  const [a, b, other] = [waiterOf('g'), waiterOf('g'), waiterOf('h')];
  for (const one of [a, b, other]) looks.add(one);
  for (let at = 0; at < 3; at++) clock.run(250);
  expect(asked).toEqual([a, other, b, other, a, other]);
  for (const one of [a, b, other]) looks.delete(one);
  expect(clock.armed).toBe(0);
});

test('who is served by its look is not asked again', () => {
  const { looks, asked, clock } = scene((own, waiter) => {
    own.delete(waiter);
    return true;
  });
  const [a, b] = [waiterOf('g'), waiterOf('g')];
  for (const one of [a, b]) looks.add(one);
  for (let at = 0; at < 4; at++) clock.run(250);
  expect(asked).toEqual([a, b]);
  expect(clock.armed).toBe(0);
});

test('where one may not look the next one does', () => {
  const { looks, asked, clock } = scene((_, waiter) => waiter === b);
  const [a, b] = [waiterOf('g'), waiterOf('g')];
  for (const one of [a, b]) looks.add(one);
  clock.run(250);
  expect(asked).toEqual([a]);
  clock.run(250);
  expect(asked).toEqual([a, b]);
});
