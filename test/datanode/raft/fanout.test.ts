/** To whom a leader sends appends at once, and to whom later. */
import { expect, test } from 'vitest';
import type { RaftConfig } from '../../../src/datanode/raft/config.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import { type Append, leader } from './lone-leader.ts';

const data = [new Uint8Array(1)];

/** Who of them is sent entries. */
const entriesTo = (sent: readonly Append[]) =>
  sent.filter(({ entries }) => entries.length > 0).map(({ to }) => to);

/** All have the empty entry of the term; 3 answers a race first. */
function raced(voters = [1, 2, 3], judgeRace?: RaftConfig['judgeRace']) {
  const group = leader(voters, 'quorum', judgeRace);
  for (const from of voters.slice(1)) group.acknowledge(from);
  group.node.propose(data);
  expect(entriesTo(group.work())).toEqual(voters.slice(1));
  group.acknowledge(3);
  group.acknowledge(2);
  group.work();
  return group;
}

function proposed(node: RaftNode): void {
  expect(node.propose(data).ok).toBe(true);
}

test('at first everybody is sent everything at once, then who acknowledged first', () => {
  const { node, work, acknowledge } = raced();
  proposed(node);
  expect(entriesTo(work())).toEqual([3]);
  expect(node.hasLateAppends).toBe(true);
  acknowledge(3);
  expect(node.committed).toBe(node.lastIndex);
  expect(entriesTo(work())).toEqual([]);
});

test('the others are sent all of it later, in one append that tells what is committed', () => {
  const { node, work, acknowledge } = raced();
  for (let i = 0; i < 3; i++) {
    proposed(node);
    work();
    acknowledge(3);
    work();
  }
  node.sendLateAppends();
  const sent = work().filter(({ to }) => to === 2);
  expect(sent).toMatchObject([{ commit: node.lastIndex }]);
  expect(sent[0]!.entries).toHaveLength(3);
  expect(node.hasLateAppends).toBe(false);
  acknowledge(2);
  node.sendLateAppends();
  expect(work().filter(({ to }) => to === 2)).toEqual([]);
});

test('an acknowledgement that comes late brings nobody entries before their time', () => {
  const { node, work, acknowledge } = raced();
  const before = node.lastIndex;
  proposed(node);
  work();
  acknowledge(2, before);
  expect(entriesTo(work())).toEqual([]);
});

test('who has more than one who is prompt is sent things at once', () => {
  const { node, work, acknowledge } = raced();
  proposed(node);
  work();
  node.sendLateAppends();
  work();
  acknowledge(2);
  expect(node.committed).toBe(node.lastIndex);
  proposed(node);
  expect(entriesTo(work())).toContain(2);
});

test('now and then all are raced', () => {
  const { node, work, acknowledge } = raced();
  let all = 0;
  for (let i = 0; i < 200; i++) {
    proposed(node);
    if (entriesTo(work()).length === 2) all++;
    acknowledge(3);
    node.sendLateAppends();
    work();
    acknowledge(2);
    work();
  }
  expect(all).toBeGreaterThanOrEqual(2);
  expect(all).toBeLessThanOrEqual(6);
});

test('who is unreachable, or to lead next, is not waited for and does not wait', () => {
  const lost = raced();
  lost.node.reportUnreachable(3);
  proposed(lost.node);
  expect(entriesTo(lost.work())).toContain(2);

  const handed = raced();
  proposed(handed.node);
  handed.work();
  handed.acknowledge(3);
  handed.work();
  handed.node.transferLeader(2);
  const [append] = handed.work().filter(({ to }) => to === 2);
  expect(append!.entries.length).toBeGreaterThan(0);
  // that its entries are committed would tell it to take its time
  expect(append!.commit).toBe(append!.index);
});

test('of five, two are sent entries at once', () => {
  const { node, work, acknowledge } = raced([1, 2, 3, 4, 5]);
  proposed(node);
  expect(entriesTo(work())).toEqual([2, 3]);
  acknowledge(2);
  expect(node.committed).toBeLessThan(node.lastIndex);
  acknowledge(3);
  expect(node.committed).toBe(node.lastIndex);
});

test('where all are to be sent everything nothing is late', () => {
  const { node, work, acknowledge } = leader([1, 2, 3], 'all');
  for (const from of [2, 3]) acknowledge(from);
  for (let i = 0; i < 80; i++) {
    proposed(node);
    expect(entriesTo(work())).toEqual([2, 3]);
    for (const from of [3, 2]) acknowledge(from);
    work();
  }
  expect(node.hasLateAppends).toBe(false);
});

test('who is sent entries at once may be decided by who knows of other races', () => {
  const races: unknown[] = [];
  const { node, work } = raced([1, 2, 3], (...race) => {
    races.push(race);
    return [2];
  });
  expect(races).toEqual([[[2, 3], [3]]]);
  proposed(node);
  expect(entriesTo(work())).toEqual([2]);
});
