import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

test('gives those behind a place, looking at few before them', () => {
  const fifo = new Fifo<number>();
  for (let at = 0; at < 3_000; at++) fifo.push(2 * at);
  for (let at = 0; at < 900; at++) fifo.shift();
  for (const after of [-1, 1_799, 1_800, 1_801, 4_001, 5_997, 5_998, 6_000]) {
    let looked = 0;
    const behind = fifo.itemsBehind((item) => {
      looked++;
      return item > after;
    });
    expect([...behind]).toEqual([...fifo.items()].filter((item) => item > after));
    expect(looked).toBeLessThan(14);
  }
  expect([...new Fifo<number>().itemsBehind(() => true)]).toEqual([]);
});

test('lets go at once of what was taken, which may be large', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const fifo = new Fifo<Buffer>();
  const refs: WeakRef<Buffer>[] = [];
  for (let at = 0; at < 20; at++) {
    const item = Buffer.alloc(100_000);
    refs.push(new WeakRef(item));
    fifo.push(item);
    if (at >= 2) fifo.shift();
  }
  // what a WeakRef was made of in this turn is kept until it ends
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(refs.filter((ref) => ref.deref() !== undefined)).toHaveLength(2);
  expect(fifo.length).toBe(2);
});
