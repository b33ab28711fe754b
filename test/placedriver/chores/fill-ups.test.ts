import { expect, test } from 'vitest';
import type { NamespaceRecord, NodeRecord, PartitionRecord } from '../../../src/meta/schema.ts';
import { planFill } from '../../../src/placedriver/chores/fill-ups.ts';

const on = (replica: number, node: string) => ({ replica, node, incarnation: 'i' });
const node = (name: string, tags: Record<string, string> = {}, host = name) =>
  ({ node: name, incarnation: 'i', host, tags }) as unknown as NodeRecord;

interface Situation {
  readonly replicas?: PartitionRecord['replicas'];
  readonly wanted?: number;
  readonly tags?: readonly string[];
  readonly served?: number;
  readonly learners?: readonly number[];
  readonly loads?: Readonly<Record<string, number>>;
}

function chosen(candidates: NodeRecord[], situation: Situation = {}): string | undefined {
  const { replicas = [on(1, 'a1')], wanted = 3, served = 2, learners = [] } = situation;
  const { tags, loads = {} } = situation;
  const namespace = { replicas: wanted, ...(tags && { tags }) } as unknown as NamespaceRecord;
  const record = { replicas, epoch: 2 } as unknown as PartitionRecord;
  const membership = { epoch: served, voters: [1], learners, joint: false };
  const place = { version: 1, namespace: 'default', partition: 0 };
  const leader = { ...place, node: 'a1', replica: 1, term: 1, membership };
  const view = { namespace, record, leader, candidates, loads: new Map(Object.entries(loads)) };
  return planFill(view)?.node;
}

const a1 = node('a1', { dc_info: 'a' });

test('another data centre first, then another host, then who carries least', () => {
  const a2 = node('a2', { dc_info: 'a' });
  const b1 = node('b1', { dc_info: 'b' });
  expect(chosen([a1, a2, b1], { loads: { b1: 9 } })).toBe('b1');
  const near = node('a3', { dc_info: 'a' }, 'a1');
  expect(chosen([a1, near, a2], { loads: { a2: 9 } })).toBe('a2');
  const a4 = node('a4', { dc_info: 'a' });
  expect(chosen([a1, a2, a4], { loads: { a2: 2, a4: 1 } })).toBe('a4');
});

test('never a second replica on a node, nor one without the tags', () => {
  expect(chosen([a1])).toBe(undefined);
  const fast = node('f1', { disk: 'ssd' });
  expect(chosen([a1, node('b1'), fast], { tags: ['disk=ssd'] })).toBe('f1');
  expect(chosen([a1, node('b1')], { tags: ['disk'] })).toBe(undefined);
});

test('one at a time, up to what the namespace wants', () => {
  const b1 = node('b1');
  expect(chosen([a1, b1], { served: 1 })).toBe(undefined);
  expect(chosen([a1, b1], { learners: [2] })).toBe(undefined);
  expect(chosen([a1, b1], { wanted: 1 })).toBe(undefined);
  expect(chosen([a1, b1])).toBe('b1');
});
