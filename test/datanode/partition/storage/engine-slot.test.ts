/** Up to where an engine's data is on disk: the log before that may go, and is all there is of the rest. */
import { expect, test } from 'vitest';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { ReceivedSnapshot } from '../../../../src/datanode/partition/snapshots/snapshot-inbox.ts';
import { EngineSlot } from '../../../../src/datanode/partition/storage/engine-slot.ts';
import { Trio } from '../trio.ts';

const MUCH_LATER_MS = 3_600_000;

test('an engine that is opened counts as un-synced beyond the base of its log', async () => {
  const trio = new Trio({ engineSyncIntervalMs: MUCH_LATER_MS });
  try {
    for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
    await trio.run('write', 'SET a 1', 'SET b 2');
    await trio.caughtUp('n1', (await trio.leader()).appliedIndex);
    await trio.stop('n1');
    await trio.start('n1');
    const replica = trio.hosts.get('n1')!.local('default', 0)!;
    const base = trio.logs.get('n1')!.replica(replica.id)!.base.index;
    const applied = replica.appliedIndex;
    expect(applied).toBeGreaterThan(base);
    // a process that was killed leaves it like this, too, and may not have synced it
    expect(replica.slot.syncedIndex).toBe(base);
    await replica.syncAndCompact();
    expect(replica.slot.syncedIndex).toBeGreaterThanOrEqual(applied);
  } finally {
    await trio.destroy();
  }
  expect(trio.faults).toEqual([]);
});

test('what was synced of an engine says nothing of the one that has taken its place', async () => {
  const engines = createMemoryHost();
  const { engine } = await engines.open('1-0');
  const { engine: received } = await engines.open('1-1');
  const slot = new EngineSlot(engines, 1, engine, 0);
  const syncing = slot.sync(90);
  const removeOld = slot.exchange({
    ...{ engine: received, generation: 1, state: { index: 40 } },
  } as ReceivedSnapshot);
  expect(await syncing).toBe(false);
  expect([slot.engine === received, slot.syncedIndex]).toEqual([true, 40]);
  await removeOld();
  expect(await engines.list()).toEqual(['1-1']);
});
