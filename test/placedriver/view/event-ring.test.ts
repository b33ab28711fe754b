import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { EventRing } from '../../../src/placedriver/view/event-ring.ts';
import type { ClusterEvent } from '../../../src/placedriver/view/facts.ts';

const came = (node: string): ClusterEvent => ({ type: 'node-came', node });

test('tells what came after a revision, and since when it is complete', () => {
  const ring = new EventRing();
  ring.begin(5);
  expect(ring.since(0)).toEqual({ events: [], completeSince: 5 });
  ring.add([came('a'), came('b')], 7, 1_000);
  ring.add([came('c')], 9, 1_001);
  expect(ring.since(7)).toEqual({
    events: [{ revision: 9, atMs: 1_001, event: came('c') }],
    completeSince: 5,
  });
  expect(ring.since(5).events).toHaveLength(3);
});

test('forgets the oldest at its bound, and says so', () => {
  const ring = new EventRing();
  ring.begin(1);
  for (let revision = 2; revision < limits.clusterEventsMax + 12; revision++) {
    ring.add([came(`n${revision}`)], revision, revision);
  }
  const { events, completeSince } = ring.since(0);
  expect(events).toHaveLength(limits.clusterEventsMax);
  expect(completeSince).toBe(11);
  expect(events[0]!.revision).toBe(12);
});
