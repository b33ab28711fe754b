/** A connection's lanes: those of groups that went do not stay for as long as the client does. */
import { describe, expect, test } from 'vitest';
import type { LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import { integer, OK } from '../../../src/datanode/resp/reply.ts';
import type { LaneItem } from '../../../src/datanode/server/lane.ts';
import { LaneSet, type LanesWorld } from '../../../src/datanode/server/lane-set.ts';
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
  } as Partial<LanesWorld> as LanesWorld;
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

describe('writes that may give back much', () => {
  /** `given`: what the next batch of the group meets; without it, it answers shortly and at once. */
  function lanesOfWriter() {
    const given = new Map<number, Promise<'refused' | 'short'>>();
    const settled: string[] = [];
    const began: number[] = [];
    const next = new Set<unknown>();
    const clock = handClock();
    const world = {
      clock: clock as never,
      budget: { take: () => true, give: () => {}, countRequest: () => {} } as never,
      holdMs: 1_000,
      protocol: () => 2,
      maxStalenessMs: () => undefined,
      wantsWitness: () => false,
      mayStart: () => true,
      isNext: (item) => next.has(item),
      waitingBytes: () => 0,
      hasRoomFor: () => true,
      redirect: () => undefined,
      onLeader: () => () => {},
      execute: async ({ group, lines, deadlineMs }): Promise<LineResult[]> => {
        began.push(group!);
        const how = await given.get(group!);
        if (how === 'refused') {
          return lines.map(() => ({ ok: false, code: 'NO_LEADER', message: 'none' }));
        }
        const reply = deadlineMs > clock.monotonicMs() ? OK : integer(-1);
        return lines.map(() => ({ ok: true, reply }));
      },
    } as Partial<LanesWorld> as LanesWorld;
    const lanes = new LaneSet(world, () => {});
    const push = (group: number, name = '') => {
      const settle: LaneItem['settle'] = (reply) => {
        settled.push(reply === OK ? name : 'late');
      };
      const item: LaneItem = {
        ...{ slot: {}, line: [Buffer.from('GETDEL')], kind: 'write', bytes: 1, arrivedMs: 0 },
        ...{ mayAnswerMuch: true, settle },
      };
      lanes.push({ namespace: 'default', partition: 0, group }, item);
      return item;
    };
    return { lanes, push, settled, began, given, next, clock };
  }

  test('leave in whole batches once their replies have turned out to be small', async () => {
    const { lanes, push, began, settled } = lanesOfWriter();
    const counts: number[] = [];
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 2_000; at++) push(1 + (at % 17));
      lanes.start();
      while (lanes.unanswered > 0) await turn();
      counts.push(began.splice(0).length);
    }
    expect(settled).toHaveLength(6_000);
    expect(counts[0]).toBeLessThan(60);
    expect(counts.slice(1)).toEqual([17, 17]);
  });

  test('wait for one another, are not late for that, and go on when one ends', async () => {
    const { lanes, push, began, given, settled, clock } = lanesOfWriter();
    let goOn = (_how: 'refused' | 'short') => {};
    given.set(
      1,
      new Promise((resolve) => {
        goOn = resolve;
      }),
    );
    for (const group of [1, 2, 3]) push(group, `of ${group}`);
    lanes.start();
    await turn();
    expect(began).toEqual([1]);
    clock.ms += 5_000;
    goOn('refused');
    await turn();
    expect(began).toEqual([1, 2, 3]);
    expect(settled).toEqual(['late', 'of 2', 'of 3']);
  });

  test('do not wait when what they answer is the next to leave', async () => {
    const { lanes, push, began, given, next, settled } = lanesOfWriter();
    given.set(1, new Promise(() => {}));
    for (const group of [1, 2]) push(group, `of ${group}`);
    next.add(push(3, 'of 3'));
    lanes.start();
    await turn();
    expect([began, settled]).toEqual([
      [1, 3, 2],
      ['of 3', 'of 2'],
    ]);
    lanes.close();
  });
});
