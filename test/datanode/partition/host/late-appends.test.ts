/** Appends that can wait leave together. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { LateAppends } from '../../../../src/datanode/partition/host/late-appends.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';

test('each replica is asked once, all at one moment, and one that fails keeps none from it', () => {
  const timers: { readonly delayMs: number; readonly run: () => void }[] = [];
  const late = new LateAppends((delayMs, run) => timers.push({ delayMs, run }));
  const asked: string[] = [];
  const replica = (name: string, fails = false) => {
    const sendLateAppends = () => {
      asked.push(name);
      if (fails) throw new Error(name);
    };
    return { sendLateAppends, fail: () => asked.push(`${name} failed`) } as unknown as Replica;
  };
  const [first, second] = [replica('first', true), replica('second')];
  for (const each of [first, second, first]) late.request(each);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([limits.lateAppendMs]);
  timers[0]!.run();
  expect(asked).toEqual(['first', 'first failed', 'second']);
  late.request(second);
  expect(timers).toHaveLength(2);
});
