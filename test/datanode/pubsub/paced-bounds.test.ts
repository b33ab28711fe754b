/** What waits for its turn: whose it is, in which order it is admitted, and what is counted of it. */
import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import {
  createSubscriber,
  type Subscriber,
} from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import { type Message, PacedDelivery } from '../../../src/datanode/pubsub/paced-delivery.ts';
import type { Topic } from '../../../src/datanode/pubsub/registry.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { bytes } from './mesh.ts';

let clock: ManualClock;
let paced: PacedDelivery;
let given: number;

beforeEach(() => {
  clock = new ManualClock();
  paced = new PacedDelivery(clock);
  given = 0;
});

/** A channel with subscribers that came at `since`. */
function topicOf(subscribers: number, since = 1): Topic {
  const local = new Map<Subscriber, number>();
  for (let at = 0; at < subscribers; at++)
    local.set(
      createSubscriber(() => given++),
      since,
    );
  return { kind: 'channel', name: bytes('n'), glob: undefined, local, peers: new Map() };
}

const messageOf = (size: number, version = 1): Message => ({
  ...{ version, bytes: size },
  deliveries: [{ encoded: () => bytes('') }],
});

async function end(): Promise<void> {
  while (await clock.step());
}

/** Fills what may wait, so that whoever comes is held back. */
function fill(): void {
  paced.deliver([topicOf(300)], messageOf(limits.deliveries.bytesMax));
  expect(paced.hasRoom).toBe(false);
}

/** Each takes a whole share of a turn. */
function taker(taken: string[]): (name: string) => () => void {
  return (name) => () => {
    clock.spend(limits.turnMs);
    taken.push(name);
  };
}

test('publishers are admitted a share of each turn, and none overtakes those who wait', async () => {
  const order: string[] = [];
  const publish = taker(order);
  fill();
  for (const name of ['a', 'b']) void paced.whenRoom(publish(name));
  while (order.length === 0) await clock.step();
  expect([order, paced.hasRoom]).toEqual([['a'], true]);
  void paced.whenRoom(publish('c'));
  await end();
  expect(order).toEqual(['a', 'b', 'c']);
});

test('who came after a message is not given it, also when nothing waits', () => {
  paced.deliver([topicOf(3, 5)], messageOf(1, 4));
  expect(given).toBe(0);
  paced.deliver([topicOf(3, 5)], messageOf(1, 5));
  expect(given).toBe(3);
});

test('what subscribers were owed who have left does not hold back others for ever', async () => {
  const subscribers = Math.ceil(limits.deliveries.waitingMax / 3);
  for (let round = 0; round < 4; round++) {
    const topic = topicOf(subscribers);
    paced.deliver([topic], messageOf(1));
    topic.local.clear();
    await end();
    expect(paced.hasRoom).toBe(true);
  }
});
