/** A group whose namespace has its reads served under leases. */
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import type { HostSettings } from '../../../../src/datanode/partition/host/host-settings.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { replicaStatuses } from '../../../../src/datanode/status.ts';
import { Trio, textOf } from '../trio.ts';

const NODES = ['n1', 'n2', 'n3'] as const;

let trio: Trio;

async function start(
  reads: 'lease' | undefined,
  settings: Partial<HostSettings>,
): Promise<Replica> {
  trio = new Trio(settings);
  if (reads !== undefined) for (const node of NODES) trio.underLease.add(node);
  for (const node of NODES) await trio.start(node);
  expect(await trio.run('write', 'SET a 1')).toEqual(['+OK']);
  return trio.leader();
}

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

/** No message reaches it, none leaves it. */
function isolate({ id }: Replica): void {
  for (const node of NODES) {
    trio.cut.add(`n${id}>${node}`);
    trio.cut.add(`${node}>n${id}`);
  }
}

async function get(replica: Replica): Promise<string | undefined> {
  const [result] = await replica.execute({
    namespace: 'default',
    partition: 0,
    kind: 'read',
    lines: [[Buffer.from('GET'), Buffer.from('a')]],
    protocol: 2,
    term: undefined,
    deadlineMs: systemClock.monotonicMs() + 500,
  });
  return textOf(result!);
}

// Promises are long and election timeouts short, so that a busy host changes no outcome.
const LONG = { leasePromiseMs: 60_000, electionTicks: 200 };

describe('a namespace with leases', () => {
  test('reads where nobody can be asked, until its leader hands over', async () => {
    const leader = await start('lease', LONG);
    await expect.poll(() => roundsOf(() => get(leader))).toBe(0);
    isolate(leader);
    expect(await get(leader)).toBe('$1\r\n1');
    leader.handOver();
    expect(await get(leader)).toBe('NO_LEADER');
  });

  test('can be made one, and no more be one, while it serves', async () => {
    const leader = await start(undefined, LONG);
    // the leader knows first: its followers' answers begin no lease
    trio.underLease.add(`n${leader.id}`);
    await trio.arrange();
    await beats(3);
    expect(await roundsOf(() => get(leader))).toBeGreaterThan(0);
    for (const node of NODES) trio.underLease.add(node);
    await trio.arrange();
    await expect.poll(() => roundsOf(() => get(leader))).toBe(0);
    trio.underLease.clear();
    await trio.arrange();
    expect(await roundsOf(() => get(leader))).toBeGreaterThan(0);
    isolate(leader);
    expect(await get(leader)).toBe('NO_LEADER');
  });

  test('others do not', async () => {
    const leader = await start(undefined, LONG);
    expect(await roundsOf(() => get(leader))).toBeGreaterThan(0);
    isolate(leader);
    expect(await get(leader)).toBe('NO_LEADER');
  });

  test('whose leader is lost has another when the promises to it are over', async () => {
    const leasePromiseMs = 500;
    // nobody would campaign by itself for a minute, nor again if both stood at once and each had a vote
    const seldomAtOnce = { electionTicks: 6_000, orphanCampaignMs: 3_000 };
    const leader = await start('lease', { leasePromiseMs, ...seldomAtOnce });
    await expect.poll(() => roundsOf(() => get(leader))).toBe(0);
    isolate(leader);
    const lostMs = performance.now();
    trio.tellOfPeer(`n${leader.id}`, false);
    const others = [...trio.hosts.values()]
      .flatMap((host) => host.replicas())
      .filter((replica) => replica.id !== leader.id);
    await expect
      .poll(() => others.some(({ isLeader }) => isLeader), { timeout: 10_000 })
      .toBe(true);
    // the last heartbeat came a little before it was lost
    expect(performance.now() - lostMs).toBeGreaterThan(leasePromiseMs / 4);
  });

  test('no connection that is lost makes a follower forget its leader while it promises', async () => {
    const leader = await start('lease', LONG);
    const followers = [...trio.hosts.values()].flatMap((host) =>
      host.replicas().filter((replica) => replica.id !== leader.id),
    );
    await expect
      .poll(() => followers.map((replica) => replica.leader))
      .toEqual([leader.id, leader.id]);
    const { term } = leader;
    trio.tellOfPeer(`n${leader.id}`, false);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(followers.map((replica) => replica.leader)).toEqual([leader.id, leader.id]);
    expect(leader.term).toBe(term);
  });

  test('restarted replicas elect nobody until the promises they may have made are over', async () => {
    const leasePromiseMs = 1_000;
    await start('lease', { leasePromiseMs });
    for (const node of NODES) await trio.stop(node);
    const beganMs = performance.now();
    for (const node of NODES) await trio.start(node);
    await trio.leader();
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(leasePromiseMs);
    expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
  });

  test('restarted replicas wait also when there are no leases any more', async () => {
    const leasePromiseMs = 1_000;
    await start('lease', { leasePromiseMs });
    trio.underLease.clear();
    await trio.arrange();
    const beganMs = performance.now();
    for (const node of NODES) await trio.stop(node);
    for (const node of NODES) await trio.start(node);
    await trio.leader();
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(leasePromiseMs);
  });

  test('restarted replicas that never promised wait for nothing', async () => {
    await start(undefined, LONG);
    for (const node of NODES) await trio.stop(node);
    for (const node of NODES) await trio.start(node);
    // within the 5 s that this waits, far from the promise of a minute
    await trio.leader();
    expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
  });

  test('tells how it reads', async () => {
    await start('lease', LONG);
    const [status] = replicaStatuses('n1', trio.hosts.get('n1')!);
    expect(status!.reads).toBe('lease');
  });
});

/** Until so many heartbeats have been answered. */
async function beats(count: number): Promise<void> {
  const answers = () => trio.sent.filter((sent) => sent.startsWith('heartbeatResponse ')).length;
  const target = answers() + 2 * count;
  await expect.poll(answers).toBeGreaterThanOrEqual(target);
}

/** Numbered heartbeats that were sent at once for a read, beside those that come with the ticks. */
async function roundsOf(read: () => Promise<unknown>): Promise<number> {
  const before = trio.sent.length;
  await read();
  return trio.sent.slice(before).filter((sent) => sent.startsWith('heartbeat ')).length;
}
