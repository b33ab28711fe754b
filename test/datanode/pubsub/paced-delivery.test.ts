import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import {
  createSubscriber,
  type Subscriber,
  type SubscriptionKind,
} from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import { PubSubHub } from '../../../src/datanode/pubsub/hub.ts';
import { encodePeerBody } from '../../../src/datanode/pubsub/peer-codec.ts';
import type { PostLink } from '../../../src/datanode/transport/transport.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { bytes, fakeLink, listener } from './mesh.ts';

/** Near enough what one of a real client takes. */
const DELIVERY_MS = 0.01;
/** What a turn may take: its share, and what is done between two looks at the clock. */
const TURN_MS = limits.turnMs + 2.5;

/** A node whose subscribers take their time; a turn is all that happens until the next step. */
class Node {
  readonly clock = new ManualClock();
  readonly hub = new PubSubHub({ clock: this.clock, logger: silentLogger }, () => undefined);
  /** What came to each subscriber, in order: the last word of each message. */
  readonly heard = new Map<Subscriber, string[]>();
  readonly turnsMs: number[] = [];
  /** Subscribers that were sent something in each turn. */
  readonly served: number[] = [];
  readonly link = fakeLink();
  readonly #inTurn = new Set<Subscriber>();

  client(): Subscriber {
    const heard: string[] = [];
    const one: Subscriber = createSubscriber((delivery) => {
      this.clock.spend(DELIVERY_MS);
      this.#inTurn.add(one);
      heard.push(delivery.encoded(3).toString('latin1').split('\r\n').at(-2)!);
    });
    this.heard.set(one, heard);
    return one;
  }

  clients(count: number, kind: SubscriptionKind, name: string): Subscriber[] {
    return Array.from({ length: count }, () => {
      const one = this.client();
      this.hub.subscribe(one, kind, bytes(name));
      return one;
    });
  }

  post(channel: string, text: string, link: PostLink = this.link): void {
    const payload = bytes(text);
    const message = { type: 'message', kind: 'channel', channel: bytes(channel), payload } as const;
    this.hub.onPost('peer', encodePeerBody(message), link);
  }

  /** One turn of the loop, and what happens in it; false when there is nothing to do. */
  async turn(run?: () => void): Promise<boolean> {
    const sinceMs = this.clock.monotonicMs();
    this.#inTurn.clear();
    run?.();
    const isAny = run !== undefined || (await this.clock.step());
    this.turnsMs.push(this.clock.monotonicMs() - sinceMs);
    this.served.push(this.#inTurn.size);
    return isAny;
  }

  /** Until nothing is to be done. */
  async run(): Promise<void> {
    while (await this.turn());
  }
}

const texts = (count: number) => Array.from({ length: count }, (_, at) => `${at}`);

describe('no turn is longer than its share', () => {
  test('when a thousand messages of a peer come in one chunk for a thousand subscribers', async () => {
    const node = new Node();
    const clients = node.clients(1_000, 'channel', 'n');
    await node.turn(() => {
      for (const text of texts(1_000)) node.post('n', text);
    });
    await node.run();
    expectShort(node);
    expect(node.turnsMs.length).toBeGreaterThan(1_000);
    for (const one of clients) expect(node.heard.get(one)).toEqual(texts(1_000));
    expect(node.link.isPaused).toBe(false);
  });

  test('when a client of the node publishes to five thousand', async () => {
    const node = new Node();
    const clients = node.clients(5_000, 'channel', 'n');
    await node.turn(() => {
      expect(node.hub.publish('channel', bytes('n'), bytes('x'))).toBe(5_000);
    });
    await node.run();
    expectShort(node);
    for (const one of clients) expect(node.heard.get(one)).toEqual(['x']);
  });
});

test('of large messages fewer subscribers are sent something in a turn', async () => {
  const node = new Node();
  const clients = node.clients(300, 'channel', 'n');
  const large = bytes('x'.padEnd(60_000, '.'));
  await node.turn(() => void node.hub.publish('channel', bytes('n'), large));
  await node.run();
  for (const one of clients) expect(node.heard.get(one)).toHaveLength(1);
  expect(Math.max(...node.served)).toBeLessThan(40);
});

function expectShort({ turnsMs, served }: Node): void {
  expect(Math.max(...turnsMs)).toBeLessThan(TURN_MS);
  // each of them costs a write as well
  expect(Math.max(...served)).toBeLessThanOrEqual(128);
}

test('few subscribers are sent a message in the turn in which it came', () => {
  const node = new Node();
  const clients = node.clients(10, 'channel', 'n');
  node.hub.publish('channel', bytes('n'), bytes('near'));
  node.post('n', 'far');
  for (const one of clients) expect(node.heard.get(one)).toEqual(['near', 'far']);
});

test('a subscriber is given many messages at once, so that they leave in one write', async () => {
  const node = new Node();
  const clients = node.clients(1_000, 'channel', 'n');
  for (const text of texts(200)) node.hub.publish('channel', bytes('n'), bytes(text));
  await node.run();
  for (const one of clients) expect(node.heard.get(one)).toEqual(texts(200));
  const writes = node.served.reduce((sum, one) => sum + one, 0);
  expect(writes).toBeLessThan(200_000 / 50);
});

test('one who subscribes to several names that match is sent all of a message before the next', async () => {
  const node = new Node();
  node.clients(300, 'channel', 'n');
  const one = listener();
  node.hub.subscribe(one, 'pattern', bytes('*'));
  node.hub.subscribe(one, 'channel', bytes('n'));
  for (const text of ['x', 'y']) node.hub.publish('channel', bytes('n'), bytes(text));
  expect(one.heard).toEqual([]);
  await node.run();
  expect(one.heard.map((text) => text.split('\r\n')[2])).toEqual([
    'message',
    'pmessage',
    'message',
    'pmessage',
  ]);
  expect(one.heard.map((text) => text.split('\r\n').at(-2))).toEqual(['x', 'x', 'y', 'y']);
});

test('who leaves while a message waits is not sent it, nor is who comes, or comes back', async () => {
  const node = new Node();
  const clients = node.clients(600, 'channel', 'n');
  const late = listener();
  const [leaves, returns] = [clients[500]!, clients[501]!];
  node.hub.publish('channel', bytes('n'), bytes('x'));
  node.post('n', 'y');
  node.hub.unsubscribe(leaves, 'channel', bytes('n'));
  node.hub.unsubscribe(returns, 'channel', bytes('n'));
  node.hub.subscribe(returns, 'channel', bytes('n'));
  node.hub.subscribe(late, 'channel', bytes('n'));
  node.post('n', 'z');
  await node.run();
  expect(node.heard.get(leaves)).toEqual([]);
  expect(node.heard.get(returns)).toEqual(['z']);
  expect(late.heard).toHaveLength(1);
  expect(node.heard.get(clients[502]!)).toEqual(['x', 'y', 'z']);
});

const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('publish'), name: fc.constantFrom('a', 'ab') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('post'), name: fc.constantFrom('a', 'ab') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('join', 'leave'),
      who: fc.nat(2),
      name: fc.constantFrom('a', 'ab', 'a*'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn'), name: fc.constant('') }) },
);

test('whoever comes and goes, each is sent in order what came while it had subscribed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
      const node = new Node();
      // enough to keep messages waiting
      for (const name of ['a', 'ab']) node.clients(300, 'channel', name);
      const clients = [node.client(), node.client(), node.client()];
      const kindOf = (name: string) => (name === 'a*' ? 'pattern' : 'channel');
      const may = new Map(clients.map((one) => [one, [] as string[]]));
      for (const [at, step] of steps.entries()) {
        if (step.do === 'turn') await node.turn();
        else if ('who' in step) {
          const one = clients[step.who]!;
          const change = step.do === 'join' ? 'subscribe' : 'unsubscribe';
          node.hub[change](one, kindOf(step.name), bytes(step.name));
        } else {
          for (const one of clients) {
            const { channel, pattern } = one.subscriptions;
            if (channel.has(step.name)) may.get(one)!.push(`${step.do} ${at}`);
            if (pattern.has('a*')) may.get(one)!.push(`${step.do} ${at}`);
          }
          const text = `${step.do} ${at}`;
          if (step.do === 'post') node.post(step.name, text);
          else node.hub.publish('channel', bytes(step.name), bytes(text));
        }
      }
      const stayed = clients.filter((_, who) =>
        steps.every((step) => !('who' in step) || step.who !== who || step.do === 'join'),
      );
      await node.run();
      for (const one of clients) expectPart(node.heard.get(one)!, may.get(one)!);
      for (const one of stayed)
        expect(node.heard.get(one)!.toSorted()).toEqual(may.get(one)!.toSorted());
    }),
    { numRuns: 200 },
  );
});

/** Posts wait apart from what the node's own clients publish: each of the two comes in its order. */
function expectPart(heard: readonly string[], all: readonly string[]): void {
  for (const by of ['publish', 'post']) {
    const rest = all.filter((text) => text.startsWith(by));
    for (const text of heard.filter((one) => one.startsWith(by))) {
      const at = rest.indexOf(text);
      expect(at, `${text} of ${all}`).toBeGreaterThanOrEqual(0);
      rest.splice(0, at + 1);
    }
  }
}

describe('what waits is bounded', () => {
  test('a publisher waits while there is no room, and those who wait come in order', async () => {
    const node = new Node();
    const clients = node.clients(1_000, 'channel', 'n');
    const publish = (text: string) => node.hub.publishWhenRoom('channel', bytes('n'), bytes(text));
    const given: (number | Promise<number>)[] = texts(1_000).map(publish);
    const held = given.filter((one) => one instanceof Promise);
    expect(given.length - held.length).toBeLessThan(limits.deliveries.waitingMax / 1_000 + 10);
    await node.run();
    expect(await Promise.all(given)).toEqual(Array(1_000).fill(1_000));
    for (const one of clients) expect(node.heard.get(one)).toEqual(texts(1_000));
  });

  test('what waited to be published is delivered after its publisher was answered', async () => {
    const node = new Node();
    const one = node.clients(300, 'channel', 'n')[0]!;
    // all that waits: when it has left there is room, and time in that turn
    node.hub.publish('channel', bytes('n'), Buffer.alloc(limits.deliveries.bytesMax, '.'));
    const given = node.hub.publishWhenRoom('channel', bytes('n'), bytes('x'));
    expect(given).toBeInstanceOf(Promise);
    const answered = Promise.resolve(given).then(() => node.heard.get(one)!.includes('x'));
    await node.run();
    expect(await answered).toBe(false);
    expect(node.heard.get(one)!.at(-1)).toBe('x');
  });

  test('bytes count as well as deliveries', () => {
    const node = new Node();
    node.clients(1_000, 'channel', 'n');
    const large = Buffer.alloc(limits.deliveries.bytesMax / 4);
    const given = texts(10).map(() => node.hub.publishWhenRoom('channel', bytes('n'), large));
    expect(given.filter((one) => one instanceof Promise).length).toBeGreaterThanOrEqual(6);
    node.hub.close();
  });

  test('who cannot wait has the oldest delivered at once', () => {
    const node = new Node();
    const clients = node.clients(1_000, 'channel', 'n');
    for (const text of texts(1_000)) node.hub.publish('channel', bytes('n'), bytes(text));
    const heard = clients.reduce((sum, one) => sum + node.heard.get(one)!.length, 0);
    expect(1_000_000 - heard).toBeLessThanOrEqual(2 * limits.deliveries.waitingMax + 1_000);
  });

  test('a peer of whose messages too many wait is not read, and then read again', async () => {
    const node = new Node();
    const clients = node.clients(200, 'channel', 'n');
    const other = fakeLink();
    const chunk = () => {
      for (const text of texts(100)) node.post('n', text.padEnd(1_000, '.'));
    };
    chunk();
    node.post('n', 'other', other);
    expect([node.link.isPaused, other.isPaused]).toEqual([true, false]);
    let chunks = 1;
    while (await node.turn()) if (!node.link.isPaused && chunks++ < 10) chunk();
    expect(chunks).toBeGreaterThan(10);
    expect(node.link.isPaused).toBe(false);
    expect(node.heard.get(clients[0]!)).toHaveLength(1_001);
  });
});

test('what a peer tells of its clients does not wait behind its messages', () => {
  const node = new Node();
  node.clients(1_000, 'channel', 'n');
  for (const text of texts(500)) node.post('n', text);
  const counts = [{ kind: 'channel', name: bytes('far'), count: 3 }] as const;
  node.hub.onPost(
    'peer',
    encodePeerBody({ type: 'counts', anew: true, version: 1, counts }),
    node.link,
  );
  expect(node.hub.count('channel', bytes('far'))).toBe(3);
});
