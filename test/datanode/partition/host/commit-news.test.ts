/** Commits told by messages of their own wait, and never stand in another message's way. */
import { expect, test } from 'vitest';
import { CommitNews } from '../../../../src/datanode/partition/host/commit-news.ts';
import type { PeerMessage, SleepMessage } from '../../../../src/datanode/raft/message.ts';

const GROUP = 7;
const FOLLOWER = 12;

function append(commit: number, entries = 0, to = FOLLOWER): PeerMessage {
  const entry = { kind: 'normal', index: 1, term: 1, data: Buffer.alloc(1) } as const;
  const envelope = { from: 11, to, term: 1, index: 0, logTerm: 0 };
  return { type: 'append', ...envelope, commit, entries: Array(entries).fill(entry) };
}

function world() {
  const sent: (PeerMessage | SleepMessage)[] = [];
  const timers: (() => void)[] = [];
  const news = new CommitNews({
    after: (_delayMs, run) => timers.push(run),
    send: (_group, message) => sent.push(message),
  });
  const expire = () => {
    for (const run of timers.splice(0)) run();
  };
  return { sent, timers, expire, send: (message: PeerMessage) => news.send(GROUP, message) };
}

test('an append without entries waits, and only the newest to a replica leaves', () => {
  const { sent, timers, expire, send } = world();
  send(append(4));
  send(append(5));
  send(append(9, 0, 13));
  expect(sent).toEqual([]);
  expect(timers).toHaveLength(1);
  expire();
  expect(sent).toEqual([append(5), append(9, 0, 13)]);
  send(append(6));
  expire();
  expect(sent.at(-1)).toEqual(append(6));
});

test('entries take its place', () => {
  const { sent, expire, send } = world();
  send(append(4));
  send(append(4, 2));
  expire();
  expect(sent).toEqual([append(4, 2)]);
});

test('what else goes to the replica goes behind it, but heartbeats overtake', () => {
  const { sent, expire, send } = world();
  const beat = { type: 'heartbeat', from: 11, to: FOLLOWER, term: 1, commit: 3, readContext: 1 };
  const go = { type: 'timeoutNow', from: 11, to: FOLLOWER, term: 1 };
  send(append(4));
  send(beat as PeerMessage);
  send(go as PeerMessage);
  expire();
  expect(sent).toEqual([beat, append(4), go]);
});

test('one timer serves many, also of those whose place was taken', () => {
  const { timers, send } = world();
  for (let commit = 1; commit < 50; commit++) {
    send(append(commit));
    send(append(commit, 1));
  }
  expect(timers).toHaveLength(1);
});

test('an acknowledgement of what is committed waits, one that others wait for takes its place', () => {
  const { sent, expire, send } = world();
  const acknowledgement = (index: number, commit: number, reject = false): PeerMessage => {
    const rest = { from: 12, to: FOLLOWER, term: 1, logTerm: 0, rejectHint: 0 };
    return { type: 'appendResponse', ...rest, index, commit, reject };
  };
  send(acknowledgement(5, 5));
  send(acknowledgement(6, 7));
  expect(sent).toEqual([]);
  expire();
  expect(sent.splice(0)).toEqual([acknowledgement(6, 7)]);
  send(acknowledgement(7, 7));
  send(acknowledgement(8, 7));
  expire();
  expect(sent.splice(0)).toEqual([acknowledgement(8, 7)]);
  send(acknowledgement(8, 8));
  send(acknowledgement(9, 8, true));
  expect(sent).toEqual([acknowledgement(8, 8), acknowledgement(9, 8, true)]);
});
