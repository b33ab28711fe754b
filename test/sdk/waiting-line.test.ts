import { expect, test } from 'vitest';
import { WaitingLine } from '../../src/sdk/waiting-line.ts';

test('is what a list would be, whoever comes and leaves', () => {
  const line = new WaitingLine<number>();
  const model: number[] = [];
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let at = 0; at < 40_000; at++) {
    const dice = random(10);
    // More come than go at first, then the other way round.
    if (dice < (at < 20_000 ? 6 : 3)) {
      line.add(at);
      model.push(at);
    } else if (dice === 9 && model.length > 0) {
      const [gone] = model.splice(random(Math.min(model.length, 50)), 1);
      if (!line.delete(gone!)) throw new Error(`${gone} was not there`);
      if (line.delete(gone!)) throw new Error(`${gone} was there twice`);
    } else if (line.shift() !== model.shift()) throw new Error(`not the first one, at ${at}`);
    if (line.size !== model.length) throw new Error(`${line.size} of ${model.length}, at ${at}`);
  }
  expect(line.size).toBe(model.length);
});

test('a long line is served in the time of its length', () => {
  const count = 200_000;
  const line = new WaitingLine<object>();
  for (let at = 0; at < count; at++) line.add({});
  const began = process.cpuUsage().user;
  while (line.shift() !== undefined);
  // A Set took seven seconds of half as many.
  expect((process.cpuUsage().user - began) / 1_000).toBeLessThan(2_000);
});
