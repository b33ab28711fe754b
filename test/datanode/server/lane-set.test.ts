/** A connection's lanes: those of groups that went do not stay for as long as the client does. */
import { expect, test } from 'vitest';
import type { LineResult } from '../../../src/datanode/partition/batch.ts';
import { integer } from '../../../src/datanode/resp/reply.ts';
import type { LaneItem, LaneWorld } from '../../../src/datanode/server/lane.ts';
import { LaneSet } from '../../../src/datanode/server/lane-set.ts';
import { handClock } from '../partition/hand-clock.ts';

/** `settled`: groups and what they answered, in order; those in `stuck` answer when it is called. */
function scene(stuck: ReadonlyMap<number, Promise<void>> = new Map()) {
  const settled: number[] = [];
  const world = {
    clock: handClock() as never,
    holdMs: 1_000,
    protocol: () => 2,
    maxStalenessMs: () => undefined,
    wantsWitness: () => false,
    mayStart: () => true,
    hasRoomFor: () => true,
    redirect: () => undefined,
    onLeader: () => () => {},
    execute: async ({ group, lines }): Promise<LineResult[]> => {
      await stuck.get(group!);
      return lines.map(() => ({ ok: true, reply: integer(group!) }));
    },
  } as Partial<LaneWorld> as LaneWorld;
  const lanes = new LaneSet(world, () => {});
  const item = (settle: LaneItem['settle']): LaneItem => ({
    ...{ slot: {}, line: [Buffer.from('PING')], kind: 'write', bytes: 1, arrivedMs: 0, settle },
  });
  const send = (group: number) => {
    const place = { namespace: 'default', partition: 0, group };
    lanes.push(
      place,
      item(() => settled.push(group)),
    );
    lanes.start();
  };
  return { lanes, send, settled };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('lanes of a client that meets one group after the other do not pile up', async () => {
  const { lanes, send, settled } = scene();
  for (let group = 1; group <= 10_000; group++) {
    send(group);
    if (group % 10 === 0) await turn();
  }
  expect(settled).toHaveLength(10_000);
  expect(lanes.size).toBeLessThan(200);
});

test('one that waits for its partition stays, and keeps the order', async () => {
  let goOn = () => {};
  const waits = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { lanes, send, settled } = scene(new Map([[7, waits]]));
  send(7);
  for (let group = 100; group < 1_000; group++) {
    send(group);
    if (group % 10 === 0) await turn();
  }
  send(7);
  await turn();
  expect([settled.includes(7), lanes.unanswered]).toEqual([false, 2]);
  goOn();
  await turn();
  expect([settled.slice(-2), lanes.unanswered]).toEqual([[7, 7], 0]);
});
