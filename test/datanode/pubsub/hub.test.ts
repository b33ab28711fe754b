import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { SubscriptionKind } from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import { KeyEventPublisher } from '../../../src/datanode/pubsub/key-events.ts';
import { decodePeerBody } from '../../../src/datanode/pubsub/peer-codec.ts';
import { bytes, type Listener, listener, Mesh } from './mesh.ts';

const message = (channel: string, text: string) =>
  `>3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${text.length}\r\n${text}\r\n`;

function messagesSent(mesh: Mesh, link: string): string[] {
  return (mesh.sent.get(link) ?? []).flatMap((body) => {
    const decoded = decodePeerBody(body);
    return decoded.type === 'message' ? [decoded.payload.toString()] : [];
  });
}

test('a message reaches the subscribers of every node, and PUBLISH knows how many', async () => {
  const mesh = new Mesh('a', 'b', 'c');
  const [one, two, three] = [listener(), listener(), listener()];
  mesh.hub('a').subscribe(one, 'channel', bytes('news'));
  mesh.hub('b').subscribe(two, 'channel', bytes('news'));
  mesh.hub('b').subscribe(two, 'pattern', bytes('n*'));
  mesh.hub('c').subscribe(three, 'shard', bytes('news'));
  await mesh.run();
  expect(mesh.hub('c').publish('channel', bytes('news'), bytes('hi'))).toBe(3);
  expect(mesh.hub('a').publish('shard', bytes('news'), bytes('hi'))).toBe(1);
  await mesh.run();
  expect(one.heard).toEqual([message('news', 'hi')]);
  const pattern = '>4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$2\r\nhi\r\n';
  expect(two.heard).toEqual([message('news', 'hi'), pattern]);
  expect(three.heard).toEqual([message('news', 'hi').replace('$7\r\nmessage', '$8\r\nsmessage')]);
  expect(mesh.hub('a').count('channel', bytes('news'))).toBe(2);
  expect([...mesh.hub('c').names('pattern')].map(String)).toEqual(['n*']);
});

test('what is asked of one node alone adds up to what the cluster has', async () => {
  const mesh = new Mesh('a', 'b', 'c');
  for (const node of ['a', 'b', 'b'])
    mesh.hub(node).subscribe(listener(), 'channel', bytes('news'));
  mesh.hub('b').subscribe(listener(), 'channel', bytes('own'));
  await mesh.run();
  const hubs = ['a', 'b', 'c'].map((node) => mesh.hub(node));
  expect(hubs.map((hub) => hub.count('channel', bytes('news'), 'node'))).toEqual([1, 2, 0]);
  expect(hubs.map((hub) => hub.count('channel', bytes('news')))).toEqual([3, 3, 3]);
  expect(hubs.map((hub) => [...hub.names('channel', 'node')].map(String))).toEqual([
    ['news'],
    ['news', 'own'],
    [],
  ]);
  expect(hubs.map((hub) => hub.nameCount('channel', 'node'))).toEqual([1, 2, 0]);
});

test('a node is sent only what its clients listen to', async () => {
  const mesh = new Mesh('a', 'b', 'c');
  mesh.hub('b').subscribe(listener(), 'channel', bytes('b'));
  mesh.hub('c').subscribe(listener(), 'pattern', bytes('c*'));
  await mesh.run();
  for (const channel of ['b', 'c', 'd']) {
    mesh.hub('a').publish('channel', bytes(channel), bytes(channel));
  }
  await mesh.run();
  expect(messagesSent(mesh, 'a>b')).toEqual(['b']);
  expect(messagesSent(mesh, 'a>c')).toEqual(['c']);
  expect(mesh.hub('a').publish('channel', bytes('d'), bytes('x'))).toBe(0);
});

test('messages of one publisher arrive in order', async () => {
  const mesh = new Mesh('a', 'b');
  const far = listener();
  mesh.hub('b').subscribe(far, 'channel', bytes('n'));
  await mesh.run();
  const texts = Array.from({ length: 300 }, (_, at) => String(at));
  for (const text of texts) mesh.hub('a').publish('channel', bytes('n'), bytes(text));
  await mesh.run();
  expect(far.heard).toEqual(texts.map((text) => message('n', text)));
});

describe('SUBSCRIBE is confirmed', () => {
  test('when every peer knows of it', async () => {
    const mesh = new Mesh('a', 'b', 'c');
    await mesh.run();
    const near = listener();
    mesh.hub('a').subscribe(near, 'channel', bytes('n'));
    let confirmed = false;
    const told = mesh
      .hub('a')
      .told()
      ?.then(() => {
        confirmed = true;
      });
    expect(mesh.hub('b').publish('channel', bytes('n'), bytes('too early'))).toBe(0);
    while (!confirmed) expect(await mesh.clock.step()).toBe(true);
    await told;
    expect(mesh.clock.monotonicMs()).toBeLessThan(200);
    expect(mesh.hub('b').publish('channel', bytes('n'), bytes('x'))).toBe(1);
    expect(mesh.hub('c').publish('channel', bytes('n'), bytes('x'))).toBe(1);
    expect(mesh.hub('a').told()).toBeUndefined();
  });

  test('at once when there is no peer, or its link ends', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    mesh.silent.add('a>b');
    mesh.hub('a').subscribe(listener(), 'channel', bytes('n'));
    const told = mesh.hub('a').told();
    mesh.cut('a', 'b');
    await told;
    mesh.hub('a').subscribe(listener(), 'channel', bytes('m'));
    expect(mesh.hub('a').told()).toBeUndefined();
  });

  test('after a while when a peer does not answer, and then waits for it no more', async () => {
    const mesh = new Mesh('a', 'b', 'c');
    await mesh.run();
    const beganMs = mesh.clock.monotonicMs();
    mesh.silent.add('a>b');
    mesh.hub('a').subscribe(listener(), 'channel', bytes('n'));
    let confirmed = false;
    void mesh
      .hub('a')
      .told()!
      .then(() => {
        confirmed = true;
      });
    while (!confirmed) await mesh.clock.step();
    expect(mesh.clock.monotonicMs() - beganMs).toBe(limits.subscribeTellMs);
    mesh.hub('a').subscribe(listener(), 'channel', bytes('m'));
    const second = mesh.hub('a').told();
    await mesh.run(20);
    await second;
    mesh.silent.clear();
    mesh.hub('a').subscribe(listener(), 'channel', bytes('o'));
    await mesh.run();
    expect(mesh.hub('a').told()).toBeUndefined();
  });
});

/** A clock on which each look takes a little. */
function slowClock(mesh: Mesh): void {
  const now = mesh.clock.monotonicMs.bind(mesh.clock);
  mesh.clock.monotonicMs = () => {
    mesh.clock.spend(0.2);
    return now();
  };
}

describe('many names', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => bytes(`n${at}`));

  function* all(mesh: Mesh, one: Listener) {
    for (const name of names) yield mesh.hub('a').subscribe(one, 'channel', name);
  }

  test('are told, heard of and given up in many turns, and SUBSCRIBE is confirmed behind them', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    slowClock(mesh);
    const one = listener();
    const made = mesh.hub('a').inTurns(all(mesh, one));
    expect(one.subscriptions.channel.size).toBeLessThan(2_000);
    await mesh.clock.until(made!);
    const before = mesh.sent.get('a>b')!.length;
    const told = mesh.hub('a').told()!;
    await mesh.clock.step();
    expect(mesh.sent.get('a>b')!.length - before).toBeLessThan(15);
    await mesh.clock.until(told);
    expect(mesh.hub('b').count('channel', names.at(-1)!)).toBe(1);
    expect(mesh.hub('b').nameCount('channel')).toBe(names.length);
    mesh.hub('a').end(one);
    expect(one.subscriptions.channel.size).toBeGreaterThan(18_000);
    await mesh.run(1_000);
    expect([one.subscriptions.channel.size, mesh.hub('b').nameCount('channel')]).toEqual([0, 0]);
  });

  test('nobody who has left is given anything, or subscribes to more', async () => {
    const mesh = new Mesh('a');
    slowClock(mesh);
    const one = listener();
    const made = mesh.hub('a').inTurns(all(mesh, one))!;
    mesh.hub('a').end(one);
    mesh.hub('a').publish('channel', names[0]!, bytes('too late'));
    await mesh.clock.until(made);
    await mesh.run(1_000);
    expect(one.heard).toEqual([]);
    expect([mesh.hub('a').nameCount('channel'), mesh.hub('a').info().clients]).toEqual([0, 0]);
  });

  test('are waited for as long as a peer goes on to hear of them', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    const one = listener();
    for (const name of names) mesh.hub('a').subscribe(one, 'channel', name);
    const told = mesh.hub('a').told()!;
    // a frame a turn, and all of them take longer than a silent peer may
    const now = mesh.clock.monotonicMs.bind(mesh.clock);
    mesh.clock.monotonicMs = () => {
      mesh.clock.spend(limits.subscribeTellMs / 40);
      return now();
    };
    const beganMs = mesh.clock.monotonicMs();
    await mesh.clock.until(told);
    expect(mesh.clock.monotonicMs() - beganMs).toBeGreaterThan(limits.subscribeTellMs);
    expect(mesh.hub('b').nameCount('channel')).toBe(names.length);
  });

  test('are known to a peer whose link is new only when it has heard of all of them', async () => {
    const mesh = new Mesh('a', 'b', 'c');
    await mesh.run();
    mesh.silent.add('a>c');
    const one = listener();
    for (const name of names) mesh.hub('a').subscribe(one, 'channel', name);
    const told = mesh.hub('a').told()!;
    await mesh.run(50);
    mesh.cut('a', 'b');
    mesh.silent.clear();
    mesh.open('a', 'b');
    mesh.hub('a').subscribe(one, 'channel', bytes('x'));
    slowClock(mesh);
    await mesh.clock.until(told);
    expect(mesh.hub('b').nameCount('channel')).toBe(names.length + 1);
  });

  test('of a peer that is lost, and comes back, hold as it told them last', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    const one = listener();
    for (const name of names) mesh.hub('a').subscribe(one, 'channel', name);
    await mesh.run(1_000);
    slowClock(mesh);
    mesh.cut('a', 'b');
    expect(mesh.hub('b').nameCount('channel')).toBeGreaterThan(18_000);
    mesh.hub('a').unsubscribe(one, 'channel', names[0]!);
    mesh.open('a', 'b');
    await mesh.run(3_000);
    expect(mesh.hub('b').nameCount('channel')).toBe(names.length - 1);
    expect(mesh.hub('b').count('channel', names[0]!)).toBe(0);
  });
});

describe('a peer that is away or does not keep up', () => {
  test('loses messages, which are counted and logged once in a while', async () => {
    const mesh = new Mesh('a', 'b');
    mesh.hub('b').subscribe(listener(), 'channel', bytes('n'));
    await mesh.run();
    mesh.full.add('a>b');
    for (let at = 0; at < 50; at++) {
      expect(mesh.hub('a').publish('channel', bytes('n'), bytes('x'))).toBe(0);
    }
    expect(mesh.hub('a').info().lostMessages).toBe(50);
    expect(mesh.warnings).toEqual([{ peer: 'b', lostSinceStart: 1 }]);
    await mesh.run(11_000);
    mesh.hub('a').publish('channel', bytes('n'), bytes('x'));
    expect(mesh.warnings.at(-1)).toEqual({ peer: 'b', lostSinceStart: 51 });
    mesh.hub('a').resetStatistics();
    expect(mesh.hub('a').info().lostMessages).toBe(0);
  });

  test('loses what had not left when its link ended, and that is counted too', async () => {
    const mesh = new Mesh('a', 'b');
    mesh.hub('b').subscribe(listener(), 'channel', bytes('n'));
    await mesh.run();
    for (const text of ['x', 'y']) mesh.hub('a').publish('channel', bytes('n'), bytes(text));
    // The frames of counts and their acknowledgements are no messages.
    mesh.unsent.set('a>b', mesh.sent.get('a>b')!);
    expect(mesh.sent.get('a>b')!.length).toBeGreaterThan(2);
    mesh.cut('a', 'b');
    expect(mesh.hub('a').info().lostMessages).toBe(2);
  });

  test('hears of subscriptions later, the last state of each name only', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    mesh.full.add('a>b');
    const before = mesh.sent.get('a>b')!.length;
    const one = listener();
    for (let at = 0; at < 1_000; at++) {
      mesh.hub('a').subscribe(one, 'channel', bytes('n'));
      mesh.hub('a').unsubscribe(one, 'channel', bytes('n'));
    }
    mesh.hub('a').subscribe(one, 'channel', bytes('n'));
    await mesh.run();
    mesh.full.clear();
    await mesh.run();
    expect(mesh.sent.get('a>b')!.length - before).toBe(1);
    expect(mesh.hub('b').count('channel', bytes('n'))).toBe(1);
  });

  test('is told of many names in several frames', async () => {
    const mesh = new Mesh('a', 'b');
    mesh.cut('a', 'b');
    const one = listener();
    const names = Array.from({ length: 3_000 }, (_, at) => `${at}`.padStart(1_000, 'n'));
    for (const name of names) mesh.hub('a').subscribe(one, 'channel', bytes(name));
    await mesh.run();
    const before = mesh.sent.get('a>b')?.length ?? 0;
    mesh.open('a', 'b');
    await mesh.run(500);
    expect([...mesh.hub('b').names('channel')]).toHaveLength(names.length);
    const frames = mesh.sent.get('a>b')!.slice(before);
    expect(frames.length).toBeGreaterThan(10);
    for (const { length } of frames) expect(length).toBeLessThan(limits.subscriptionFrameBytes * 2);
  });
});

test('a node takes no more subscriptions than its bounds allow', () => {
  const mesh = new Mesh('a');
  const long = Buffer.alloc(limits.channelBytesMax + 1);
  expect(mesh.hub('a').refusal([bytes('ok'), long])).toMatch(/is longer than 65536$/);
  expect(mesh.hub('a').refusal([bytes('ok')])).toBeUndefined();
  const one = listener();
  const half = Math.floor(limits.subscriptionBytesMax / 2 / (limits.channelBytesMax + 128));
  const name = (at: number) => Buffer.alloc(limits.channelBytesMax, `${at},`);
  for (let at = 0; at < half; at++) mesh.hub('a').subscribe(one, 'channel', name(at));
  const many = Array.from({ length: half + 2 }, (_, at) => name(half + at));
  expect(mesh.hub('a').refusal(many)).toMatch(/^ERR the clients of this node have \d+ subscr/);
  mesh.hub('a').unsubscribeAll(one);
  expect(mesh.hub('a').refusal(many)).toBeUndefined();
});

const nodes = ['a', 'b', 'c'] as const;
const anyNode = fc.constantFrom(...nodes);
const anyName = fc.constantFrom('x', 'y', 'xy', '*');
const anyKind = fc.constantFrom<SubscriptionKind>('channel', 'pattern', 'shard');
const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant('subscribe' as const), anyNode, fc.nat(2), anyKind, anyName),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('unsubscribe' as const), anyNode, fc.nat(2), anyKind, anyName),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('leave' as const), anyNode, fc.nat(2)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('cut' as const), anyNode, anyNode) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('open' as const), anyNode, anyNode) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('fill' as const), anyNode, anyNode) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('run' as const), fc.nat(5)) },
);

test('whatever happens to links and clients, counts are right again when the links are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
      const mesh = new Mesh(...nodes);
      const clients = new Map(nodes.map((node) => [node, [listener(), listener(), listener()]]));
      for (const step of steps) {
        if (step[0] === 'run') await mesh.run(step[1]);
        else if (step[0] === 'cut') mesh.cut(step[1], step[2]);
        else if (step[0] === 'fill') mesh.full.add(`${step[1]}>${step[2]}`);
        else if (step[0] === 'open') {
          if (step[1] !== step[2]) mesh.open(step[1], step[2]);
        } else {
          const client = clients.get(step[1])![step[2]]!;
          if (step[0] === 'leave') mesh.hub(step[1]).unsubscribeAll(client);
          else mesh.hub(step[1])[step[0]](client, step[3], bytes(step[4]));
        }
      }
      mesh.full.clear();
      for (const from of nodes) for (const to of nodes) if (from !== to) mesh.open(from, to);
      await mesh.run();
      const everybody = [...clients.values()].flat();
      expectCounts(mesh, everybody);
      for (const node of nodes) await expectReach(mesh, node, everybody);
    }),
    { numRuns: 150 },
  );
});

function expectCounts(mesh: Mesh, everybody: readonly Listener[]): void {
  for (const kind of ['channel', 'pattern', 'shard'] as const) {
    for (const name of ['x', 'y', 'xy', '*']) {
      const expected = everybody.filter(({ subscriptions }) => subscriptions[kind].has(name));
      for (const [, hub] of mesh.hubs) {
        expect(hub.count(kind, bytes(name))).toBe(expected.length);
        expect([...hub.names(kind)].map(String).includes(name)).toBe(expected.length > 0);
      }
    }
  }
}

async function expectReach(mesh: Mesh, node: string, everybody: readonly Listener[]) {
  for (const { heard } of everybody) heard.length = 0;
  const count = mesh.hub(node).publish('channel', bytes('x'), bytes('hi'));
  await mesh.run();
  expect(everybody.flatMap(({ heard }) => heard)).toHaveLength(count);
}

test('what a script publishes goes where PUBLISH and SPUBLISH go; what is lost is counted', async () => {
  const mesh = new Mesh('a', 'b');
  const [one, two] = [listener(), listener()];
  mesh.hub('b').subscribe(one, 'channel', bytes('news'));
  mesh.hub('b').subscribe(two, 'shard', bytes('news'));
  await mesh.run();
  const publisher = new KeyEventPublisher(mesh.hub('a'));
  const said = (text: string, isSharded: boolean) =>
    publisher.publishMessage({ channel: bytes('news'), message: bytes(text), isSharded });
  said('all', false);
  said('slot', true);
  await mesh.run();
  expect(one.heard).toEqual([message('news', 'all')]);
  expect(two.heard).toEqual([message('news', 'slot').replace('$7\r\nmessage', '$8\r\nsmessage')]);
  publisher.countLost(3);
  expect(mesh.hub('a').info().lostMessages).toBe(3);
});
