import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../src/common/fifo.ts';

test('gives what came first, like an array', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(), fc.constant('shift'), fc.constant('clear'))),
      (steps) => {
        const fifo = new Fifo<number>();
        let model: number[] = [];
        for (const step of steps) {
          if (typeof step === 'number') {
            fifo.push(step);
            model.push(step);
          } else if (step === 'shift') expect(fifo.shift()).toBe(model.shift());
          else {
            fifo.clear();
            model = [];
          }
          expect([fifo.length, fifo.first, fifo.last]).toEqual([
            model.length,
            model[0],
            model.at(-1),
          ]);
        }
      },
    ),
  );
});

test('keeps its order while thousands come and go', () => {
  const fifo = new Fifo<number>();
  let next = 0;
  for (let at = 0; at < 10_000; at++) {
    fifo.push(at);
    if (at % 3 > 0) expect(fifo.shift()).toBe(next++);
  }
  while (fifo.length > 0) expect(fifo.shift()).toBe(next++);
  expect(next).toBe(10_000);
});
