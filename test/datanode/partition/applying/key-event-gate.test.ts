import { expect, test } from 'vitest';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';

const others = { publishMessage: () => {}, countLost: () => {} };
const event = { of: 'string', event: 'set', key: Buffer.from('k') } as const;

test('only the leader tells of events, and only of entries of its own term', () => {
  const replica = { isLeader: true, term: 4 };
  let wanted = true;
  const sink = { ...others, wanted: () => wanted, publish: () => {} };
  const gate = new KeyEventGate(sink, 'default', () => replica);
  expect([3, 4, 5].map((term) => gate.isOpen(term))).toEqual([false, true, false]);
  replica.isLeader = false;
  expect(gate.isOpen(4)).toBe(false);
  replica.isLeader = true;
  wanted = false;
  expect(gate.isOpen(4)).toBe(false);
});

test('events go on with their namespace; none are no call; without a sink nothing happens', () => {
  const told: unknown[] = [];
  const publish = (...all: unknown[]) => told.push(all);
  const sink = { ...others, wanted: () => true, publish };
  const gate = new KeyEventGate(sink, 'shop', () => ({ isLeader: true, term: 1 }));
  gate.publish([]);
  gate.publish([event]);
  expect(told).toEqual([['shop', [event]]]);
  const idle = new KeyEventGate(undefined, 'shop', () => ({ isLeader: true, term: 1 }));
  expect(idle.isOpen(1)).toBe(false);
  idle.publish([event]);
});
