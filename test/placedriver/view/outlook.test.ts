import { expect, test } from 'vitest';
import { type ControlRecord, encodeRecord, keys } from '../../../src/meta/schema.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { outlook, plannedMoves } from '../../../src/placedriver/view/outlook.ts';
import { leaderRecord, namespaceRecord, nodeRecord, partitionRecord } from '../http/api.ts';

const HOUR_MS = 3_600_000;

function picture(nodes: readonly string[], more: Record<string, { version: number }> = {}) {
  const partition = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
  const records = {
    ...Object.fromEntries(nodes.map((node) => [keys.node(node), nodeRecord(node)])),
    [keys.namespace('default')]: namespaceRecord('default', { partitions: 1 }),
    [keys.partition('default', 0)]: partition,
    [keys.leader('default', 0)]: leaderRecord(partition),
    ...more,
  };
  const seen = new Picture();
  const at = { createRevision: 1, modRevision: 1 };
  seen.list(
    Object.entries(records).map(([key, one]) => ({ key, value: encodeRecord(one), ...at })),
  );
  return seen;
}

const control = (change: Partial<ControlRecord>): Record<string, { version: number }> => {
  const record: ControlRecord = {
    version: 1,
    stableNodes: 3,
    balance: { enabled: true },
    ...change,
  };
  return { [keys.control]: record };
};

test('says what keeps replicas where they are', () => {
  const three = ['n1', 'n2', 'n3'];
  expect(outlook(picture(three, control({})), 0)).toEqual({
    frozen: undefined,
    unbalanced: undefined,
  });
  const upgrading = outlook(picture(three, control({ upgradeSinceMs: 1 })), 0);
  expect(upgrading).toEqual({ frozen: 'upgrade mode is on', unbalanced: 'upgrade mode is on' });
  expect(outlook(picture(three, control({ stableNodes: 6 })), 0).frozen).toMatch(/^3 nodes are/);
  const off = outlook(picture(three, control({ balance: { enabled: false } })), 0);
  expect(off).toEqual({ frozen: undefined, unbalanced: 'balancing is switched off' });
  const window = { fromMinute: 22 * 60, toMinute: 6 * 60 };
  const night = picture(three, control({ balance: { enabled: true, window } }));
  expect(outlook(night, 23 * HOUR_MS).unbalanced).toBeUndefined();
  expect(outlook(night, 5 * HOUR_MS).unbalanced).toBeUndefined();
  expect(outlook(night, 12 * HOUR_MS).unbalanced).toBe('outside of the window');
});

test('plans what would leave a node that is drained, and nothing where nothing is to be done', () => {
  expect(plannedMoves(picture(['n1', 'n2', 'n3']))).toEqual([]);
  const state = { version: 1, node: 'n2', firstSeenMs: 1, draining: { sinceMs: 1, replicas: 1 } };
  const drained = picture(['n1', 'n2', 'n3', 'n4'], { [keys.nodeState('n2')]: state });
  expect(plannedMoves(drained)).toEqual([
    { namespace: 'default', partition: 0, from: 'n2', to: 'n4' },
  ]);
  const few = picture(['n1', 'n2', 'n3'], { [keys.nodeState('n2')]: state });
  expect(plannedMoves(few), 'fewer nodes than replicas').toEqual([]);
});
