/** A replica is opened again: by the process that had it while its log is slow, and after a loss of power. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../src/common/log.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  type NodeStores,
  openReplica,
} from '../../../../src/datanode/partition/replica/open-replica.ts';
import { encodeState } from '../../../../src/datanode/partition/storage/state.ts';
import { openSharedLog } from '../../../../src/datanode/raftlog/shared-log.ts';
import type { PartitionRecord } from '../../../../src/meta/schema.ts';
import { SimDisk } from '../../../sim/disk.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

const birth = [1, 2, 3].map((replica) => ({ replica, node: `n${replica}`, incarnation: 'i' }));
const record = { namespace: 'default', partition: 0, group: 1, epoch: 1, replicas: birth, birth };

test('it is there only once all that its log was given is durable', async () => {
  const clock = new ManualClock();
  const latencyMs = { read: 0.05, write: 50, sync: 1, name: 0.1 };
  const disk = new SimDisk({ random: seededRandom('reopen'), clock, latencyMs });
  const log = await clock.until(
    openSharedLog({
      ...{ disk: disk.session(), dir: 'raftlog', clock, logger: silentLogger },
      onFailure: (failure) => expect.unreachable(failure.message),
    }),
  );
  const notes = { mayPromise: () => false };
  const engines = createMemoryHost();
  const stores = { log, engines, logger: silentLogger, notes } as unknown as NodeStores;
  const open = () => openReplica(stores, record as unknown as PartitionRecord, 1);
  const first = await clock.until(open());
  // what the life before was sent is on its way to the disk when its engine fails
  let isDurable = false;
  const entry = { term: 2, index: 2, kind: 'normal', data: Buffer.from('x') } as const;
  log.append({ replica: 1, entries: [entry], hardState: { term: 2, vote: 2, commit: 1 } }, () => {
    isDurable = true;
  });
  await first.engine.close();
  expect(isDurable).toBe(false);
  await clock.until(open());
  expect(log.replica(1)!.lastIndex()).toBe(2);
  expect(isDurable).toBe(true);
});

test('one that was just made is there after a loss of power', async () => {
  for (let seed = 0; seed < 8; seed++) {
    const clock = new ManualClock();
    const disk = new SimDisk({ random: seededRandom(seed), clock });
    const engines = createMemoryHost();
    const notes = { mayPromise: () => false };
    const open = async () => {
      const log = await openSharedLog({
        ...{ disk: disk.session(), dir: 'raftlog', clock, logger: silentLogger },
        onFailure: (failure) => expect.unreachable(failure.message),
      });
      const stores = { log, engines, logger: silentLogger, notes } as unknown as NodeStores;
      return openReplica(stores, record as unknown as PartitionRecord, 1);
    };
    const { state } = await clock.until(open());
    disk.crash('os');
    engines.crash(seededRandom(seed), 'power');
    clock.clear();
    expect((await clock.until(open())).state).toEqual(state);
  }
});

/** Opens replica 1, puts into its engine what a group of `members` had applied, and opens it again. */
async function openWithStateOf(members: readonly number[]): Promise<unknown> {
  const clock = new ManualClock();
  const disk = new SimDisk({ random: seededRandom('put there'), clock });
  const files = { disk: disk.session(), dir: 'raftlog', clock, logger: silentLogger };
  const log = await clock.until(openSharedLog({ ...files, onFailure: () => {} }));
  const engines = createMemoryHost();
  const notes = { mayPromise: () => false };
  const stores = { log, engines, logger: silentLogger, notes } as unknown as NodeStores;
  const open = () => openReplica(stores, record as unknown as PartitionRecord, 1);
  const { engine, state } = await clock.until(open());
  const confState = { ...state.confState, voters: members };
  const value = sealRecord(STATE_KEY, encodeState({ ...state, confState }));
  await engine.write([{ type: 'put', key: STATE_KEY, value }]);
  await engine.close();
  return clock.until(open());
}

test('it refuses the engine of another group that was put in the place of its own', async () => {
  await expect(openWithStateOf([7, 8, 9])).rejects.toMatchObject({
    code: 'CORRUPT',
    message: expect.stringMatching(
      /^engine 1-0 holds the data of replicas 7, 8, 9, which are of another group than replica 1:/,
    ),
  });
});

test('it opens that of its group: also when it is a member no more', async () => {
  for (const members of [[1], [1, 7, 8], [2, 3, 9]]) await openWithStateOf(members);
});
