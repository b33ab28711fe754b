/** Appends that are on their way are sent once, whatever raft makes of heartbeats that pass them. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { Entry, PeerMessage } from '../../../src/datanode/raft/message.ts';
import { OnTheWay } from '../../../src/datanode/transport/on-the-way.ts';
import type { GroupMessage } from '../../../src/datanode/transport/transport.ts';
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

describe('large appends that do not come through', () => {
  const heartbeat: PeerMessage = {
    type: 'heartbeat',
    from: 1,
    to: 2,
    term: 3,
    commit: 0,
    readContext: 0,
  };
  const { largeLossesMax: losses, largeLossSilenceMs: silence } = limits;

  /** A connection ends with one on its way. */
  function lose(way: OnTheWay, nowMs: number): number[] {
    way.add(7, append(10, 2));
    return way.ended(nowMs);
  }

  test('silence their leader for a while, when several connections in a row ended with them', () => {
    const way = new OnTheWay();
    for (let at = 1; at < losses; at++) expect(lose(way, at)).toEqual([]);
    expect(way.silences(7, heartbeat, losses)).toBe(false);
    expect(lose(way, losses)).toEqual([7]);
    const silenced = (message: PeerMessage, ms: number, group = 7) =>
      way.silences(group, message, losses + ms);
    expect([silenced(heartbeat, 0), silenced(append(12, 1), silence - 1)]).toEqual([true, true]);
    // votes are nothing a leader says; other groups, and later, is another matter
    expect([silenced(answer(12), 0), silenced(heartbeat, 0, 8)]).toEqual([false, false]);
    expect(silenced(heartbeat, silence)).toBe(false);
    // for longer it takes no lead from the peer
    const offer: GroupMessage = {
      group: 7,
      message: { type: 'timeoutNow', from: 2, to: 1, term: 3 },
    };
    const other = { group: 7, message: heartbeat };
    const accepted = (ms: number) => way.accepted([offer, other], losses + ms);
    expect(accepted(limits.largeLossDistrustMs - 1)).toEqual([other]);
    expect(accepted(limits.largeLossDistrustMs)).toEqual([offer, other]);
    for (let at = 1; at < losses; at++) expect(lose(way, silence + at)).toEqual([]);
    expect(lose(way, silence + losses)).toEqual([7]);
  });

  test('are no row where one has come through, where they lie far apart, or nothing was on its way', () => {
    const way = new OnTheWay();
    for (let at = 1; at < losses; at++) lose(way, at);
    way.add(7, append(10, 2));
    way.heard(7, answer(12));
    for (let at = 1; at < losses; at++) expect(lose(way, 100 + at)).toEqual([]);
    expect(lose(way, 100_000)).toEqual([]);
    for (let at = 0; at < 9; at++) expect(way.ended(100_000)).toEqual([]);
    expect(way.silences(7, heartbeat, 100_000)).toBe(false);
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
