import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Trio } from '../trio.ts';

const AFTER_TICKS = 5;
let trio: Trio;

beforeEach(async () => {
  // of 10 ms each: a machine that is busy elsewhere for a moment is not to bring an election about
  trio = new Trio({ sleepAfterTicks: AFTER_TICKS, heartbeatTicks: 1, electionTicks: 30 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

const replica = (node: string) => trio.hosts.get(node)?.local('default', 0);
const sleeping = () => [...trio.hosts.keys()].filter((node) => replica(node)?.asleep);
const asleep = (...nodes: string[]) => expect.poll(sleeping, { timeout: 30_000 }).toEqual(nodes);
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const heard = () => trio.sent.filter((line) => !line.startsWith('sleepers'));

describe('an idle group', () => {
  test('sleeps: no message of the group is sent, and no term passes', async () => {
    await trio.run('write', 'SET a 1');
    await asleep('n1', 'n2', 'n3');
    const { term, id } = await trio.leader();
    trio.sent.length = 0;
    await rest(500);
    expect(heard()).toEqual([]);
    expect(trio.sent.length).toBeGreaterThan(0);
    expect(
      [replica('n1')!, replica('n2')!, replica('n3')!].map((of) => [of.term, of.leader]),
    ).toEqual([0, 0, 0].map(() => [term, id]));
  });

  test('wakes for a write and for a read, and sleeps again', async () => {
    await trio.run('write', 'SET a 1');
    const { term } = await trio.leader();
    for (let round = 0; round < 3; round++) {
      await asleep('n1', 'n2', 'n3');
      expect(await trio.run('write', 'INCR a')).toEqual([`:${2 + round}`]);
      await asleep('n1', 'n2', 'n3');
      expect(await trio.run('read', 'GET a')).toEqual([`$1\r\n${2 + round}`]);
    }
    // an election at each waking would be six; a machine that stands still may bring one about
    expect((await trio.leader()).term).toBeLessThan(term + 3);
  });

  test('wakes as a whole when a follower does: its leader stays', async () => {
    await trio.run('write', 'SET a 1');
    for (let round = 0; round < 3; round++) {
      await asleep('n1', 'n2', 'n3');
      const { id, term } = await trio.leader();
      const followers = [...trio.hosts.keys()].filter((node) => node !== `n${id}`);
      trio.sent.length = 0;
      // both at once: either could have elected the other while the leader slept
      for (const node of followers) replica(node)!.wake();
      const beats = () => trio.sent.filter((line) => line.startsWith('heartbeat '));
      await expect.poll(() => beats().length, { timeout: 30_000 }).toBeGreaterThan(1);
      await asleep('n1', 'n2', 'n3');
      expect(replica(`n${id}`)!.term).toBe(term);
    }
  });

  test('deletes a key whose deadline comes while it sleeps', async () => {
    await trio.run('write', 'SET a 1 PX 4000');
    await asleep('n1', 'n2', 'n3');
    const leader = await trio.leader();
    expect(leader.counts().keys).toBe(1);
    await expect.poll(() => leader.counts().keys).toBe(0);
  });

  test('wakes when its wanted members change', async () => {
    await trio.run('write', 'SET a 1');
    await asleep('n1', 'n2', 'n3');
    await trio.wipe('n3');
    const [one, two] = trio.record.replicas;
    await trio.want([one!, two!, { replica: 4, node: 'n3', incarnation: 'i+' }]);
    await expect
      .poll(() => trio.memberships.get(1)?.voters, { timeout: 30_000 })
      .toEqual([1, 2, 4]);
    await asleep('n1', 'n2', 'n3');
  });
});

describe('a group asleep that loses a node', () => {
  test('its leader: the others wake and elect at once', async () => {
    await trio.run('write', 'SET a 1');
    await asleep('n1', 'n2', 'n3');
    const { id } = await trio.leader();
    await trio.stop(`n${id}`);
    trio.tellOfPeer(`n${id}`, false);
    const next = await trio.leader();
    expect(next.id).not.toBe(id);
    expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
    await asleep(...[...trio.hosts.keys()]);
  });

  test('its leader, and nobody says so: the digests do not match, so they wake and elect', async () => {
    await trio.run('write', 'SET a 1');
    await asleep('n1', 'n2', 'n3');
    const { id, term } = await trio.leader();
    await trio.stop(`n${id}`);
    await trio.start(`n${id}`);
    const next = await trio.leader();
    expect(next.term).toBeGreaterThan(term);
    expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
  });

  test('one that cannot be reached is not waited for; back, it gets what it missed', async () => {
    await trio.run('write', 'SET a 1');
    const { id } = await trio.leader();
    const lost = ['n1', 'n2', 'n3'].find((node) => node !== `n${id}`)!;
    await trio.stop(lost);
    trio.tellOfPeer(lost, false);
    await trio.run('write', 'SET a 2');
    await asleep(...[...trio.hosts.keys()]);
    await trio.start(lost);
    trio.tellOfPeer(lost, true);
    await trio.caughtUp(lost, (await trio.leader()).appliedIndex);
    await expect.poll(() => sleeping().length, { timeout: 30_000 }).toBe(3);
  });

  test('one that is behind keeps it awake', async () => {
    await trio.run('write', 'SET a 1');
    const { id } = await trio.leader();
    const deaf = ['n1', 'n2', 'n3'].find((node) => node !== `n${id}`)!;
    for (const node of ['n1', 'n2', 'n3']) trio.cut.add(`${node}>${deaf}`);
    await trio.run('write', 'SET a 2');
    await rest(AFTER_TICKS * 10 * 6);
    expect(replica(`n${id}`)!.asleep).toBe(false);
    trio.cut.clear();
    await asleep('n1', 'n2', 'n3');
  });
});
