/** Appends that are on their way are sent once, whatever raft makes of heartbeats that pass them. */
import { describe, expect, test } from 'vitest';
import type { Entry, PeerMessage } from '../../../src/datanode/raft/message.ts';
import { OnTheWay } from '../../../src/datanode/transport/on-the-way.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

type Append = Extract<PeerMessage, { type: 'append' }>;

/** Entries behind `index`. */
function append(index: number, count: number, term = 3, bytes = 1): Append {
  const data = Buffer.alloc(bytes);
  const entries = Array.from({ length: count }, (_, at): Entry => {
    return { term, index: index + at + 1, kind: 'normal', data };
  });
  return { type: 'append', from: 1, to: 2, term, index, logTerm: 3, commit: 0, entries };
}

function answer(index: number, reject = false): PeerMessage {
  const fields = { index, logTerm: 0, reject, rejectHint: 0, commit: 0 };
  return { type: 'appendResponse', from: 2, to: 1, term: 3, ...fields };
}

describe('what is on its way', () => {
  test('covers appends that begin within it, of its group and term', () => {
    const way = new OnTheWay();
    way.add(7, append(10, 2));
    way.add(7, append(12, 1));
    const covered = (...of: Parameters<typeof append>) => way.covers(7, append(...of));
    expect([covered(10, 2), covered(10, 9), covered(12, 1)]).toEqual([true, true, true]);
    expect([covered(9, 3), covered(13, 1), covered(10, 2, 4)]).toEqual([false, false, false]);
    expect(covered(10, 0)).toBe(false); // an empty one asks where the logs agree
    expect(way.covers(8, append(10, 2))).toBe(false);
    expect([way.has(7), way.has(8)]).toEqual([true, false]);
  });

  test('is forgotten when all of it is acknowledged', () => {
    const way = new OnTheWay();
    way.add(7, append(10, 2));
    for (const message of [answer(11), answer(12, true)]) way.heard(7, message);
    way.heard(8, answer(12));
    expect(way.has(7)).toBe(true);
    way.heard(7, answer(12));
    expect([way.has(7), way.size]).toEqual([false, 0]);
  });

  test('is forgotten when the peer has what was written behind it', () => {
    const way = new OnTheWay();
    way.add(7, append(10, 2));
    way.arrived(1_000);
    way.written(7, append(10, 2), 500);
    way.arrived(500);
    expect(way.has(7)).toBe(true);
    // more comes behind it, and waits
    way.add(7, append(12, 1));
    way.arrived(600);
    expect(way.has(7)).toBe(true);
    way.written(7, append(12, 1), 700);
    way.arrived(701);
    expect(way.has(7)).toBe(false);
  });

  test('is forgotten when it is dropped, and when the log is sent from an earlier place', () => {
    const way = new OnTheWay();
    way.add(7, append(10, 2));
    way.dropped(7);
    expect(way.has(7)).toBe(false);
    way.add(7, append(10, 2));
    way.add(7, append(4, 3));
    expect([way.covers(7, append(10, 2)), way.covers(7, append(4, 1))]).toEqual([false, true]);
  });
});

async function connected(run: (a: TestNode, b: TestNode) => Promise<void>): Promise<void> {
  const [a, b] = [await startNode('a'), await startNode('b')];
  try {
    introduce(a, b);
    await eventually('a and b connect', () => allReachable(a, b));
    await eventually('bulk', () => {
      a.transport.send('b', 9, append(0, 1, 3, 70_000));
      return b.received.length > 0;
    });
    b.received.length = 0;
    await run(a, b);
  } finally {
    await a.transport.close();
    await b.transport.close();
  }
}

const indexes = (node: TestNode, group: number) =>
  node.received.flatMap(({ group: of, message }) =>
    of === group && message.type === 'append' ? [message.index] : [],
  );

test('a large append is sent once until it is acknowledged, or has arrived', () =>
  connected(async (a, b) => {
    const large = append(10, 1, 3, 100_000);
    for (let copy = 0; copy < 20; copy++) a.transport.send('b', 7, large);
    a.transport.send('b', 7, append(11, 1));
    await eventually('they arrive', () => indexes(b, 7).length >= 2);
    expect(indexes(b, 7)).toEqual([10, 11]);
    b.transport.send('a', 7, answer(12));
    await eventually('b answers', () => a.received.length > 0);
    a.transport.send('b', 7, large);
    await eventually('it arrives once more', () => indexes(b, 7).length === 3);
    // nobody answers: keep-alives show that it has arrived
    await eventually('and again', () => {
      a.transport.send('b', 7, large);
      return indexes(b, 7).length === 4;
    });
  }));
