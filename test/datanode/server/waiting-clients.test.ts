/** Confirmations of what blocked clients were given, and when they are given up. */
import { expect, test } from 'vitest';
import { NULL_ARRAY } from '../../../src/datanode/resp/reply.ts';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import type { Router } from '../../../src/datanode/routing/router.ts';
import { WaitingClients } from '../../../src/datanode/server/waiting-clients.ts';
import type { PartitionRecord } from '../../../src/meta/schema.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { partitionRecord } from '../routing/records.ts';

const before = partitionRecord(0, 1);

/** A client that was served by a leader who takes no confirmation. */
async function served(onConfirm = () => {}) {
  const clock = new ManualClock();
  const routes = new MutableRouteTable();
  routes.setPartitions([before]);
  let confirmations = 0;
  const router = {
    routes,
    leader: () => ({ node: 'a', term: 1 }),
    waits: {
      ask: async () => ({ kind: 'served', reply: NULL_ARRAY }),
      confirm: async () => {
        confirmations++;
        onConfirm();
        return false;
      },
    },
  } as unknown as Router;
  const waiting = new WaitingClients(clock, router, '00');
  const place = { namespace: 'default', partition: 0, group: before.group };
  const nothing = { line: [], keys: [], isOfGroup: false } as const;
  const request = { place, ...nothing, protocol: 2, onlyReads: false, timeoutMs: 0 } as const;
  await waiting.block(request, { holdMs: 1_000, outcomeMs: 1_000 }).reply;
  return { clock, routes, waiting, confirmations: () => confirmations };
}

test.each<[string, PartitionRecord[]]>([
  ['is gone with its namespace', []],
  ['was rebuilt under another group', [{ ...before, group: before.group + 1 }]],
])('what a partition does not take is told again, until it %s', async (_, after) => {
  const { clock, routes, confirmations } = await served();
  await clock.steps(2);
  expect(confirmations()).toBe(2);
  routes.setPartitions(after);
  await clock.steps(2);
  expect(confirmations()).toBe(2);
  expect(await clock.step()).toBe(false);
});

test('a node that closes while a confirmation is under way tells nothing again', async () => {
  const { clock, waiting, confirmations } = await served(() => waiting.close());
  expect(await clock.step()).toBe(true);
  expect(confirmations()).toBe(1);
  expect(await clock.step()).toBe(false);
});
