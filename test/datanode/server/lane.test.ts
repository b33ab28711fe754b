/** One lane: what its partition does not take is held, paid for while it is, and tried again. */
import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/common/errors.ts';
import { LazyAbort } from '../../../src/common/lazy-abort.ts';
import type { LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import type { LaneItem } from '../../../src/datanode/server/lane.ts';
import { LaneSet, type LanesWorld } from '../../../src/datanode/server/lane-set.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const BYTES = 10;

/** `script`: for each batch, the code that its lines fail with, and how many are carried out before. */
function scene(script: readonly (readonly [done: number, code?: ErrorCode])[]) {
  const left = [...script];
  const batches: number[] = [];
  const settled: string[] = [];
  const timers: (() => void)[] = [];
  const budget = { taken: 0, requests: 0 };
  const world = {
    clock: {
      monotonicMs: () => 0,
      setTimer: (_ms: number, run: () => void) => {
        timers.push(run);
        return { cancel: () => {} };
      },
    } as never,
    budget: {
      take: (bytes: number) => {
        budget.taken += bytes;
        return true;
      },
      give: (bytes: number) => {
        budget.taken -= bytes;
      },
      countRequest: () => {
        budget.requests++;
      },
    } as never,
    holdMs: 1_000,
    protocol: () => 2,
    maxStalenessMs: () => undefined,
    wantsWitness: () => false,
    asker: () => new LazyAbort(),
    mayStart: () => true,
    isNext: () => true,
    waitingBytes: () => 0,
    hasRoomFor: () => true,
    redirect: () => undefined,
    onLeader: () => () => {},
    execute: async ({ lines }): Promise<LineResult[]> => {
      batches.push(lines.length);
      const [done, code] = left.shift() ?? [lines.length];
      await turn();
      return lines.map((_, at) =>
        at < done || code === undefined
          ? { ok: true, reply: OK }
          : { ok: false, code, message: 'as the script says' },
      );
    },
  } as Partial<LanesWorld> as LanesWorld;
  const lanes = new LaneSet(world, () => {});
  const send = (...names: string[]) => {
    for (const name of names) {
      const settle: LaneItem['settle'] = (reply) => void settled.push(`${name} ${reply.kind}`);
      const line = [Buffer.from('GET'), Buffer.from(name)];
      const item = { slot: {}, line, kind: 'read', bytes: BYTES, arrivedMs: 0, settle } as LaneItem;
      lanes.push({ namespace: 'default', partition: 0, group: 7 }, item);
    }
    lanes.start();
  };
  const turns = async () => {
    for (let at = 0; at < 10; at++) await turn();
  };
  const goOn = () => {
    for (const run of timers.splice(0)) run();
  };
  return { lanes, send, turns, goOn, batches, settled, timers, budget };
}

const simple = (names: string) => [...names].map((name) => `${name} simple`);

test('what was cut short because its replies grew large is asked for at once', async () => {
  const { send, turns, batches, settled, timers, budget } = scene([[2, 'BUSY']]);
  send('a', 'b', 'c', 'd');
  await turns();
  expect(batches).toEqual([4, 2]);
  expect(settled).toEqual(simple('abcd'));
  expect([timers.length, budget.requests]).toEqual([0, 0]);
});

test.each([
  [0, 'BUSY'],
  [2, 'NO_LEADER'],
] as const)('behind %d that are carried out, %s: the others wait', async (done, code) => {
  const { send, turns, goOn, batches, settled, timers, budget } = scene([
    [done, code],
    [0, code],
  ]);
  send('a', 'b', 'c', 'd');
  await turns();
  const held = 4 - done;
  expect(settled).toEqual(simple('abcd'.slice(0, done)));
  expect([timers.length, budget.taken, budget.requests]).toEqual([1, held * BYTES, held]);
  // and once more: they are the same requests
  goOn();
  await turns();
  expect(budget).toEqual({ taken: held * BYTES, requests: held });
  goOn();
  await turns();
  expect(batches).toEqual([4, held, held]);
  expect(settled).toEqual(simple('abcd'));
  expect(budget.taken).toBe(0);
});

test('nobody pays for what is answered behind the end of its client', async () => {
  const { lanes, send, turns, settled, timers, budget } = scene([[1, 'NO_LEADER']]);
  send('a', 'b');
  lanes.close();
  await turns();
  expect(settled).toEqual([]);
  expect([timers.length, budget.taken, budget.requests]).toEqual([0, 0, 0]);
});
