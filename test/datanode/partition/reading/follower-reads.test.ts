/** A follower answers from its state only what is proven to be young enough. */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { KvorumError } from '../../../../src/common/errors.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import type { HostSettings } from '../../../../src/datanode/partition/host/host-settings.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { eventually } from '../../../cluster/cluster.ts';
import { Trio, textOf } from '../trio.ts';

const TEN_SECONDS_MS = 10_000;
/** A proof is asked for again when half of this is over: on a busy machine 40 reads take seconds. */
const TEN_MINUTES_MS = 600_000;
let trio: Trio;

afterEach(() => trio.destroy());

/** Begins a group; resolves to one of its followers. */
async function begin(settings: Partial<HostSettings> = {}): Promise<Replica> {
  trio = new Trio(settings);
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await trio.run('write', 'SET k old');
  const { id } = await trio.leader();
  const follower = trio.hosts.get(id === 2 ? 'n3' : 'n2')!.local('default', 0)!;
  await eventually(30_000, 'it has heard of the leader', () => follower.leader === id);
  return follower;
}

async function read(
  at: Replica,
  words: string,
  maxStalenessMs: number,
  patienceMs = TEN_SECONDS_MS,
): Promise<string> {
  const [result] = await at.execute({
    namespace: 'default',
    partition: 0,
    kind: 'read',
    lines: [words.split(' ').map((word) => Buffer.from(word))],
    protocol: 2,
    term: undefined,
    deadlineMs: performance.now() + patienceMs,
    maxStalenessMs,
  });
  return textOf(result!);
}

/** How often a follower asked its leader. */
const asked = () => trio.sent.filter((sent) => sent.startsWith('readIndex ')).length;

/** No message passes between the replica and the others. */
function isolate({ id }: Replica): void {
  for (const other of [1, 2, 3].filter((one) => one !== id)) {
    trio.cut.add(`n${id}>n${other}`).add(`n${other}>n${id}`);
  }
}

test('shows what was acknowledged before, and asks the leader once for many reads', async () => {
  const follower = await begin();
  await trio.run('write', 'SET k new', 'RPUSH l a b');
  expect(await read(follower, 'GET k', TEN_MINUTES_MS)).toBe('$3\r\nnew');
  // once, unless the machine is slow
  const first = asked();
  for (let turn = 0; turn < 20; turn++) {
    expect(await read(follower, 'LLEN l', TEN_MINUTES_MS)).toBe(':2');
    expect(await read(follower, 'LRANGE l 0 -1', TEN_MINUTES_MS)).toContain('"kind":"array"');
  }
  expect(asked()).toBe(first);
});

test('does not gather what such a read waits for', async () => {
  const follower = await begin();
  const waits: number[] = [];
  for (let round = 0; round < 30; round++) {
    await trio.run('write', `SET k ${round}`);
    const beganMs = performance.now();
    expect(await read(follower, 'GET k', 0)).toContain(`\r\n${round}`);
    waits.push(performance.now() - beganMs);
  }
  // what nobody waits for is gathered for 40 ms
  expect(Math.min(...waits)).toBeLessThan(25);
});

test('cut off, it answers from its state until that is too old, and not a moment longer', async () => {
  const follower = await begin();
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$3\r\nold');
  const provenMs = performance.now();
  isolate(follower);
  await trio.run('write', 'SET k new');
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$3\r\nold');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(performance.now() - provenMs).toBeGreaterThan(250);
  expect(await read(follower, 'GET k', 250, 500)).toBe('NO_LEADER');
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$3\r\nold');
  trio.cut.clear();
  expect(await read(follower, 'GET k', 0)).toBe('$3\r\nnew');
});

test('answers of the leader that do not arrive prove nothing', async () => {
  // long elections: it must not become the leader itself meanwhile
  const follower = await begin({ electionTicks: 500 });
  const leader = await trio.leader();
  trio.cut.add(`n${leader.id}>n${follower.id}`);
  expect(await read(follower, 'GET k', TEN_SECONDS_MS, 500)).toBe('NO_LEADER');
  expect(asked()).toBeGreaterThan(0);
});

test('reads that wait for a leader are sent elsewhere by the replica that becomes it', async () => {
  await begin();
  const leader = await trio.leader();
  const followers = [1, 2, 3]
    .filter((one) => one !== leader.id)
    .map((one) => trio.hosts.get(`n${one}`)!.local('default', 0)!);
  isolate(leader);
  const answers = new Map(followers.map((one) => [one, read(one, 'GET k', 0)]));
  await eventually(30_000, 'one of them leads', () => followers.some((one) => one.isLeader));
  const next = followers.find((one) => one.isLeader)!;
  expect(await answers.get(next)).toBe('NOT_LEADER');
});

test('an answer that was long on its way proves nothing newer than what it answers', async () => {
  const follower = await begin({ electionTicks: 500 });
  const host = trio.hosts.get(`n${follower.id}`)!;
  const take = host.onMessages.bind(host);
  const late: { index: number; deliver: () => void }[] = [];
  host.onMessages = (from, messages) => {
    const deliver = () => take(from, messages);
    for (const { message } of messages) {
      if (message.type === 'readIndexResponse') return late.push({ index: message.index, deliver });
    }
    return deliver();
  };
  const first = read(follower, 'GET k', TEN_SECONDS_MS);
  await eventually(30_000, 'the leader has answered', () => late.length > 0);
  // an entry of the leader's own may have been committed a moment before, unknown to this one
  const { index, deliver } = late[0]!;
  await eventually(30_000, 'it has what the answer names', () => follower.appliedIndex >= index);
  isolate(follower);
  await trio.run('write', 'SET k new');
  await new Promise((resolve) => setTimeout(resolve, 300));
  deliver();
  expect(await first).toBe('$3\r\nold'); // which came before the leader was asked
  expect(await read(follower, 'GET k', 250, 500)).toBe('NO_LEADER');
});

test('a sleeping group is woken only by reads that need it', async () => {
  const follower = await begin({ sleepAfterTicks: 5 });
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$3\r\nold');
  await eventually(30_000, 'it sleeps', () => follower.asleep);
  const before = asked();
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$3\r\nold');
  expect([follower.asleep, asked()]).toEqual([true, before]);
  expect(await read(follower, 'GET k', 0)).toBe('$3\r\nold');
  expect(asked()).toBe(before + 1);
});

test('time goes on in its reads, but past no deadline that is not committed', async () => {
  const follower = await begin();
  await trio.run('write', 'SET short x PX 60000', 'SET k old');
  const ttl = async () => Number((await read(follower, 'PTTL short', TEN_SECONDS_MS)).slice(1));
  const first = await ttl();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const second = await ttl();
  expect(first).toBeLessThanOrEqual(60_000);
  expect(second).toBeLessThanOrEqual(first - 150);
  await trio.run('write', 'PEXPIRE short 1000');
  await read(follower, 'GET k', 0);
  isolate(follower);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(await read(follower, 'GET short', TEN_SECONDS_MS)).toBe('$1\r\nx');
  trio.cut.clear();
  await eventually(30_000, 'the deadline arrives', async () => {
    return (await read(follower, 'GET short', 0)) === '$-1';
  });
});

test('a snapshot brings deadlines of its own, past which its reads do not go either', async () => {
  trio = new Trio({ clockSkewMaxMs: 3_600_000 });
  let aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  for (const node of ['n1', 'n2', 'n3']) {
    trio.clocks.set(node, clock);
    await trio.start(node);
  }
  await trio.run('write', 'SET k v');
  const leader = await trio.leader();
  const { id } = leader;
  const follower = trio.hosts.get(id === 2 ? 'n3' : 'n2')!.local('default', 0)!;
  expect(await read(follower, 'GET k', TEN_SECONDS_MS)).toBe('$1\r\nv'); // there is no deadline
  isolate(follower);
  await trio.run('write', 'SET short x PX 600000');
  for (let at = 0; at < 100; at++) await trio.run('write', `SET k${at} v`);
  const log = trio.logs.get(`n${id}`)!.replica(id)!;
  await eventually(30_000, 'the log goes', () => log.firstIndex() > follower.appliedIndex + 1);
  trio.cut.clear();
  const hasAll = () => follower.appliedIndex >= leader.appliedIndex;
  await eventually(30_000, 'it has the snapshot', hasAll);
  expect(await read(follower, 'GET short', 0)).toBe('$1\r\nx');
  isolate(follower);
  aheadMs = 600_001;
  expect(await read(follower, 'GET short', TEN_SECONDS_MS)).toBe('$1\r\nx');
});

/** What is read of ranges there stands still until `end`; then it finds its engine closed. */
function holdRead({ slot: { engine } }: Replica) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let begun = () => {};
  const begins = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const snapshot = engine.snapshot.bind(engine);
  engine.snapshot = () => {
    const taken = snapshot();
    const next = async () => {
      begun();
      await ended;
      throw new KvorumError('STOPPING', 'the engine is closed');
    };
    taken.iterate = () => ({ next, close: async () => {} });
    return taken;
  };
  return { begins, end };
}

test('a read that runs while a snapshot takes the place of the engine leaves it serving', async () => {
  const follower = await begin();
  await read(follower, 'GET k', 0);
  const old: Engine = follower.slot.engine;
  const held = holdRead(follower);
  const answer = read(follower, 'SCAN 0', TEN_SECONDS_MS);
  await held.begins;
  isolate(follower);
  const { log } = (await trio.leader()).inspect();
  await eventually(30_000, 'what it lacks is not in the log any more', async () => {
    for (let round = 0; round < 50; round++) await trio.run('write', `SET k ${round}`);
    return log.firstIndex() > follower.appliedIndex + 1;
  });
  trio.cut.clear();
  await eventually(30_000, 'a snapshot is there', () => follower.slot.engine !== old);
  held.end();
  expect(await answer).toBe('NOT_LEADER');
  expect([follower.stopped, trio.faults]).toEqual([false, []]);
  expect(await read(follower, 'SCAN 0', 0)).toContain('"kind":"array"');
});
