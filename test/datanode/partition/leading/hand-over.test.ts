import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { Places } from '../../../../src/datanode/partition/host/places.ts';
import {
  Departures,
  encodeFarewell,
} from '../../../../src/datanode/partition/leading/departures.ts';
import { successors } from '../../../../src/datanode/partition/leading/hand-over.ts';
import { giveAwayAll } from '../../../../src/datanode/partition/leading/leave.ts';
import type { RaftStatus } from '../../../../src/datanode/raft/ready.ts';
import { Trio } from '../trio.ts';

let trio: Trio;

beforeEach(async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(async () => {
  await trio.destroy();
});

const leads = (replica: number) =>
  expect.poll(async () => (await trio.leader()).id, { timeout: 30_000 }).toBe(replica);

describe('leadership goes where the wanted record wants it', () => {
  test('when its order changes, with a new epoch and the same members', async () => {
    await leads(1);
    const [one, two, three] = trio.record.replicas;
    for (const order of [
      [two!, one!, three!],
      [three!, two!, one!],
    ]) {
      await trio.want(order);
      await leads(order[0]!.replica);
      expect(trio.memberships.get(1)).toMatchObject({
        epoch: trio.record.epoch,
        voters: [1, 2, 3],
      });
    }
    expect(trio.faults).toEqual([]);
  });

  test('when its node comes back, while a client writes without a gap', async () => {
    await leads(1);
    await trio.run('write', 'SET n 0');
    await trio.stop('n1');
    trio.tellOfPeer('n1', false);
    expect((await trio.leader()).id).not.toBe(1);
    await trio.start('n1');
    trio.tellOfPeer('n1', true);
    let written = 0;
    for (let back = false; !back; ) {
      expect(await trio.run('write', 'INCR n')).toEqual([`:${++written}`]);
      back = (await trio.leader()).id === 1;
      expect(written).toBeLessThan(100_000);
    }
    expect(await trio.run('write', 'INCR n')).toEqual([`:${written + 1}`]);
  });
});

describe('a node that leaves', () => {
  test('hands its leaders over, and is not handed them back while it is there', async () => {
    await leads(1);
    expect(await trio.hosts.get('n1')!.leave(30_000)).toBe(0);
    const successor = await trio.leader();
    expect(successor.id).not.toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await trio.leader()).id).toBe(successor.id);
    await trio.stop('n1');
    trio.tellOfPeer('n1', false);
    await trio.start('n1');
    trio.tellOfPeer('n1', true);
    await leads(1);
  });

  // at once: not after the five seconds that it may take
  test('ends at once when nobody can take over', async () => {
    await leads(1);
    await trio.stop('n2');
    await trio.stop('n3');
    const began = systemClock.monotonicMs();
    expect(await trio.hosts.get('n1')!.leave(30_000)).toBe(1);
    expect(systemClock.monotonicMs() - began).toBeLessThan(4_500);
  });

  test('and others that leave with it do not pass leaders around', async () => {
    await leads(1);
    const began = systemClock.monotonicMs();
    const kept = await Promise.all([...trio.hosts.values()].map((host) => host.leave(30_000)));
    expect(kept.reduce((sum, one) => sum + one)).toBe(1);
    expect(systemClock.monotonicMs() - began).toBeLessThan(4_500);
  });
});

describe('whom a leader hands over to', () => {
  const progress = (...members: object[]) => ({ progress: members }) as unknown as RaftStatus;
  const voter = { learner: false, state: 'replicate', heardLately: true };

  test('those heard from come first, then those that hold most, then the record’s order', () => {
    const status = progress(
      { ...voter, replica: 1, match: 9 },
      { ...voter, replica: 2, match: 5 },
      { ...voter, replica: 3, match: 7 },
      { ...voter, replica: 4, match: 7 },
      { ...voter, replica: 5, match: 8, heardLately: false },
      { ...voter, replica: 6, match: 8, learner: true },
      { ...voter, replica: 7, match: 8, state: 'snapshot' },
    );
    expect(successors(1, status, [1, 2, 4, 3])).toEqual([4, 3, 2, 5]);
  });

  test('another when one does not take over, none twice', async () => {
    const offers: number[] = [];
    const replica = {
      stopped: false,
      isLeader: true,
      leader: 1,
      status: () => ({ leadTransferee: 0 }),
      inspect: () => ({ waiting: { writes: 0, reads: 0 } }),
      giveAway(tried: ReadonlySet<number>) {
        const to = [2, 3].find((id) => !tried.has(id)) ?? 0;
        offers.push(to);
        return to;
      },
    };
    expect(await giveAwayAll(systemClock, () => [replica], 2_000)).toBe(1);
    expect(offers).toEqual([2, 3, 0]);
  });

  test('a bounded number of groups at once', () => {
    const places = new Places(2);
    expect([places.take(1), places.take(2), places.take(3), places.take(1)]).toEqual([
      ...[true, true, false, true],
    ]);
    places.give(1);
    expect(places.take(3)).toBe(true);
  });
});

describe('a farewell', () => {
  test('holds until the connection ends, and is answered by whether the other leaves, too', async () => {
    const [one, two] = [new Departures(), new Departures()];
    const transport = { request: async (_to: string, body: Buffer) => two.onFarewell('n1', body) };
    await one.announce(transport, ['n2']);
    expect([one.isLeaving('n2'), two.isLeaving('n1')]).toEqual([false, true]);
    two.forget('n1');
    expect(two.isLeaving('n1')).toBe(false);
    await two.announce({ request: async () => Promise.reject(new Error('away')) }, ['n1']);
    await one.announce(transport, ['n2']);
    expect(one.isLeaving('n2')).toBe(true);
  });

  test('has frozen bytes; others are refused', () => {
    expect(encodeFarewell().toString('hex')).toBe('4c01');
    const departures = new Departures();
    expect(departures.onFarewell('n1', encodeFarewell()).toString('hex')).toBe('0100');
    for (const bytes of ['4c', '4c02', '4c0100']) {
      const refused = () => departures.onFarewell('n2', Buffer.from(bytes, 'hex'));
      expect(refused).toThrow(expect.objectContaining({ code: 'BAD_FRAME' }));
    }
    expect(departures.isLeaving('n2')).toBe(false);
  });
});
