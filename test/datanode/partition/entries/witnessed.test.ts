/** What a batch that asks for it is told of where in the log its commands are. */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { RangeRoom } from '../../../../src/datanode/partition/reading/range-room.ts';
import { Reads } from '../../../../src/datanode/partition/reading/reads.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { eventually } from '../../../cluster/cluster.ts';
import { batchOf, Trio } from '../trio.ts';

let trio: Trio | undefined;

afterEach(() => trio?.destroy());

function batch(kind: 'read' | 'write', ...lines: string[]): CommandBatch {
  return { ...batchOf(kind, lines), witness: true };
}

const placesOf = (results: readonly LineResult[]) =>
  results.map((one) => (one.ok ? one.witness : undefined));

test('a write its entry, a read what was applied when it ran, a follower’s read as well', async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await trio.run('write', 'SET k old');
  const leader = await trio.leader();
  const { term, appliedIndex: before } = leader;
  const written = placesOf(await leader.execute(batch('write', 'INCR n', 'SET k new')));
  const index = before + 1;
  expect(written).toEqual([0, 1].map((at) => ({ term, index, upTo: index, at })));
  const entry = [
    ...trio.logs
      .get(`n${leader.id}`)!
      .replica(leader.id)!
      .entries(index, index + 1, 1e6),
  ];
  expect(entry).toMatchObject([{ term, index }]);
  const seen = { term, index, upTo: index, at: -1 };
  const reads = await leader.execute(batch('read', 'GET k', 'LRANGE l 0 -1'));
  expect(placesOf(reads)).toEqual([seen, seen]);
  const { witness: _, ...unasked } = batch('read', 'GET k');
  expect(placesOf(await leader.execute(unasked))).toEqual([undefined]);
  const follower = trio.hosts.get(leader.id === 2 ? 'n3' : 'n2')!.local('default', 0)!;
  await eventually(30_000, 'it has applied it', () => follower.appliedIndex === index);
  const old = await follower.execute({ ...batch('read', 'GET k'), maxStalenessMs: 10_000 });
  expect(placesOf(old)).toEqual([seen]);
});

test('a read that another member vouches for runs without a round, any other waits for one', async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await trio.run('write', 'SET k v');
  const leader = await trio.leader();
  const other = leader.id === 2 ? 3 : 2;
  const rounds: unknown[] = [];
  const { raft } = leader.inspect();
  const request = raft.requestRead.bind(raft);
  Object.assign(raft, {
    requestRead: () => {
      rounds.push(1);
      return request();
    },
  });
  const term = leader.term;
  const vouched = { ...batch('read', 'GET k'), term, vouchedBy: other };
  for (const each of [vouched, { ...vouched, witness: undefined }]) {
    const [result] = await leader.execute(each);
    expect(result).toMatchObject({ ok: true });
  }
  expect(rounds).toEqual([]);
  await leader.execute({ ...vouched, vouchedBy: leader.id });
  await leader.execute(batch('read', 'GET k'));
  expect(rounds).toHaveLength(2);
});

test('a read of one key that runs while entries are written may have seen any of them', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  let isWriting = true;
  const ground = {
    engine: () => engine,
    appliedIndex: () => 7,
    applied: () => ({ term: 2, index: 7 }),
    visibleIndex: () => (isWriting ? 9 : 7),
    writing: () => isWriting,
    clearing: () => false,
    nowMs: () => 0,
    appliedTimeMs: () => 0,
    draw: () => 0,
    expirySettled: () => true,
    onFault: (failure: unknown) => {
      throw failure;
    },
    lookups: { hits: 0, misses: 0 },
    pace: new Pace(systemClock),
    ranges: new RangeRoom(),
  };
  const reads = new Reads(ground, { firstSlot: 0, lastSlot: 16_383 });
  const point = reads.gather(batch('read', 'GET k'));
  const range = reads.gather(batch('read', 'LRANGE l 0 -1'));
  reads.flush({ requestRead: () => 1, vouchedReadIndex: () => undefined });
  reads.confirm([{ readContext: 1, index: 7 }]);
  expect(placesOf(await point)).toEqual([{ term: 2, index: 7, upTo: 9, at: -1 }]);
  isWriting = false;
  reads.resume();
  expect(placesOf(await range)).toEqual([{ term: 2, index: 7, upTo: 7, at: -1 }]);
});
