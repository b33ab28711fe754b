/** The survivor of a group goes on alone once, and from then on with whom it has taken in since. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../src/common/log.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { checkSurvives, takeOver } from '../../../../src/datanode/partition/members/take-over.ts';
import {
  decodeState,
  type ReplicaState,
} from '../../../../src/datanode/partition/storage/state.ts';
import { EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';
import type { RaftLog } from '../../../../src/datanode/raftlog/raft-log.ts';
import type { PartitionRecord } from '../../../../src/meta/schema.ts';

const survivor = { replica: 1, node: 'n1', incarnation: 'i' };
const lost = [2, 3].map((replica) => ({ replica, node: `n${replica}`, incarnation: 'i' }));
/** Of the group 2, which came from group 1. */
const record = {
  ...{ namespace: 'default', partition: 0, group: 2, epoch: 5 },
  ...{ birth: [survivor], replicas: [survivor] },
  rebuilt: { epoch: 5, formerGroups: [1], lost },
} as unknown as PartitionRecord;
const STATE: ReplicaState = {
  ...{ index: 9, term: 2, timeMs: 70, epoch: 3 },
  confState: { ...EMPTY_CONF, voters: [1, 2, 3] },
};

/** What the replica goes on with; what its engine holds after a loss of power, if anything. */
async function open(state: Partial<ReplicaState>, of = record, id = 1, seed = 1) {
  const engines = createMemoryHost();
  const { engine } = await engines.open('1-0');
  let flushed = 0;
  const log = { flush: async () => flushed++, replica: () => undefined } as unknown as RaftLog;
  const taken = await takeOver({ log, logger: silentLogger }, engine, of, id, {
    ...STATE,
    ...state,
  });
  engines.crash(seededRandom(seed), 'power');
  const kept = createView((await engines.open('1-0')).engine).get(STATE_KEY);
  return { taken, kept: kept && decodeState(kept, 'here'), flushed };
}

test('it becomes the only member, and nothing else of it changes', async () => {
  for (let seed = 1; seed < 8; seed++) {
    const { taken, kept, flushed } = await open({}, record, 1, seed);
    expect(taken).toEqual({ ...STATE, epoch: 5, confState: { ...EMPTY_CONF, voters: [1] } });
    expect([kept, flushed]).toEqual([taken, 1]);
  }
});

test('once it has, later members are not dropped when it is opened again', async () => {
  for (const epoch of [5, 6]) {
    const confState = { ...EMPTY_CONF, voters: [1, 4, 5] };
    const { taken, kept } = await open({ epoch, confState });
    expect([taken, kept]).toEqual([{ ...STATE, epoch, confState }, undefined]);
  }
});

test('nobody else takes over: a member that came later, or one of a group that goes on', async () => {
  const later = await open({}, record, 4);
  expect([later.taken, later.kept]).toEqual([STATE, undefined]);
  const { rebuilt: _, ...goesOn } = record;
  expect((await open({}, goesOn)).taken).toEqual(STATE);
});

test('one that was never filled, or is not here, cannot be a survivor', async () => {
  await expect(open({ index: 0 })).rejects.toMatchObject({ code: 'REPLICA_GONE' });
  expect(() => checkSurvives(record, 1)).toThrow('is not on this node');
  expect(() => checkSurvives(record, 4)).not.toThrow();
});
