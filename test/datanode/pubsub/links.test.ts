/** What is left of peers, clients and waits when they end. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { PubSubHub } from '../../../src/datanode/pubsub/hub.ts';
import { encodePeerBody } from '../../../src/datanode/pubsub/peer-codec.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { bytes, fakeLink, listener, Mesh } from './mesh.ts';

function lone() {
  const clock = new ManualClock();
  return { clock, hub: new PubSubHub({ clock, logger: silentLogger }, () => undefined) };
}

function countsOf(names: readonly string[], anew: boolean): Buffer {
  const counts = names.map((name) => ({ kind: 'channel', name: bytes(name), count: 1 }) as const);
  return encodePeerBody({ type: 'counts', anew, version: 1, counts });
}

test('a peer that is lost listens to nothing, and no message is lost to it', async () => {
  const mesh = new Mesh('a', 'b');
  mesh.hub('b').subscribe(listener(), 'channel', bytes('n'));
  await mesh.run();
  expect(mesh.hub('a').count('channel', bytes('n'))).toBe(1);
  mesh.cut('b', 'a');
  expect(mesh.hub('a').count('channel', bytes('n'))).toBe(0);
  expect(mesh.hub('a').publish('channel', bytes('n'), bytes('x'))).toBe(0);
  expect(mesh.hub('a').info().lostMessages).toBe(0);
});

test('what a peer tells anew is all there is, though nobody noticed that it was away', () => {
  const { hub } = lone();
  hub.onPost('peer', countsOf(['x', 'y'], true), fakeLink());
  hub.onPost('peer', countsOf(['z'], false), fakeLink());
  expect([...hub.names('channel')].map(String)).toEqual(['x', 'y', 'z']);
  hub.onPost('peer', countsOf(['y'], true), fakeLink());
  expect([...hub.names('channel')].map(String)).toEqual(['y']);
});

test('a peer that tells of more names than there is time for is not read meanwhile', async () => {
  const { clock, hub } = lone();
  const now = clock.monotonicMs.bind(clock);
  clock.monotonicMs = () => {
    clock.spend(1);
    return now();
  };
  const link = fakeLink();
  const long = 'n'.repeat(1_000);
  const frames = Math.ceil(limits.deliveries.peerBytes / 100_000) + 2;
  for (let at = 0; at < frames; at++) {
    const names = Array.from({ length: 100 }, (_, i) => `${at}-${i}${long}`);
    hub.onPost('peer', countsOf(names, false), link);
  }
  expect(link.isPaused).toBe(true);
  while (await clock.step());
  expect(link.isPaused).toBe(false);
  expect(hub.nameCount('channel')).toBe(frames * 100);
});

test('who has left subscribes to nothing more', () => {
  const { hub } = lone();
  const one = listener();
  hub.end(one);
  hub.subscribe(one, 'channel', bytes('n'));
  expect([hub.nameCount('channel'), hub.info().clients]).toEqual([0, 0]);
});

test('a name is kept as it was given, and told of as long as somebody listens', () => {
  const { hub } = lone();
  const [one, other] = [listener(), listener()];
  const given = bytes('news');
  for (const each of [one, other]) hub.subscribe(each, 'channel', given);
  given.fill('x');
  expect([...hub.names('channel')].map(String)).toEqual(['news']);
  expect(hub.info()).toMatchObject({ channels: 1, clients: 2 });
  hub.unsubscribe(one, 'channel', bytes('news'));
  expect(hub.info()).toMatchObject({ channels: 1, clients: 1 });
  hub.unsubscribe(other, 'channel', bytes('news'));
  expect(hub.info()).toMatchObject({ channels: 0, clients: 0 });
});

describe('SUBSCRIBE is confirmed', () => {
  test('by a peer that was late and answers again, as before', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    const tell = (name: string) => {
      mesh.hub('a').subscribe(listener(), 'channel', bytes(name));
      return mesh.hub('a').told();
    };
    mesh.silent.add('a>b');
    await mesh.clock.until(tell('n')!);
    expect(tell('m')).toBeUndefined();
    mesh.silent.clear();
    tell('o');
    await mesh.run();
    mesh.silent.add('a>b');
    expect(tell('p')).toBeDefined();
  });

  test('to each in its time, when only the first was told of', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    mesh.hub('a').subscribe(listener(), 'channel', bytes('n'));
    const first = mesh.hub('a').told()!;
    await mesh.run(0.5);
    mesh.full.add('a>b');
    mesh.hub('a').subscribe(listener(), 'channel', bytes('m'));
    let isLate = false;
    const second = mesh.hub('a').told()!;
    void second.then(() => {
      isLate = true;
    });
    await mesh.clock.until(first);
    expect(isLate).toBe(false);
    await mesh.run(2 * limits.subscribeTellMs);
    expect(isLate).toBe(true);
  });

  test('when the node stops; nothing is tried any more', async () => {
    const mesh = new Mesh('a', 'b');
    await mesh.run();
    mesh.silent.add('a>b');
    mesh.hub('a').subscribe(listener(), 'channel', bytes('n'));
    const told = mesh.hub('a').told()!;
    await mesh.run(5);
    mesh.full.add('a>b');
    mesh.hub('a').subscribe(listener(), 'channel', bytes('m'));
    await mesh.run(5);
    const sinceMs = mesh.clock.monotonicMs();
    mesh.hub('a').close();
    await told;
    expect(await mesh.clock.step()).toBe(false);
    expect(mesh.clock.monotonicMs()).toBe(sinceMs);
  });
});

test('names are told in a share of each turn', async () => {
  const mesh = new Mesh('a', 'b');
  await mesh.run();
  const before = mesh.sent.get('a>b')!.length;
  const one = listener();
  for (let at = 0; at < 20_000; at++) mesh.hub('a').subscribe(one, 'channel', bytes(`n${at}`));
  const now = mesh.clock.monotonicMs.bind(mesh.clock);
  mesh.clock.monotonicMs = () => {
    mesh.clock.spend(limits.turnMs / 4);
    return now();
  };
  await mesh.clock.step();
  expect(mesh.sent.get('a>b')!.length - before).toBeLessThan(10);
});

test('nothing is delivered or changed any more once the node stops', async () => {
  const { clock, hub } = lone();
  const all = Array.from({ length: 1_000 }, listener);
  for (const one of all) hub.subscribe(one, 'channel', bytes('n'));
  hub.publish('channel', bytes('n'), bytes('x'));
  const many = Array.from({ length: 100_000 }, (_, at) => bytes(`m${at}`));
  const now = clock.monotonicMs.bind(clock);
  clock.monotonicMs = () => {
    clock.spend(0.2);
    return now();
  };
  void hub.inTurns(
    (function* () {
      for (const name of many) yield hub.subscribe(all[0]!, 'channel', name);
    })(),
  );
  const told = () => all.reduce((sum, { heard }) => sum + heard.length, 0);
  const before = [told(), hub.nameCount('channel')];
  expect(before[0]).toBeLessThan(1_000);
  hub.close();
  while (await clock.step());
  expect([told(), hub.nameCount('channel')]).toEqual(before);
});
