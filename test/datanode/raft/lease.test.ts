/** Leases: one replica of three, its clocks and its peers by hand. */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { PeerMessage } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import { memoryStorage } from './memory-storage.ts';

const NO_DATA = new Uint8Array(0);
const PROMISE_MS = 1_000;
const LENGTH_MS = 890;
const ELECTION_TICKS = 10;

class Subject {
  readonly clock = { monotonicMs: 5_000, wallMs: 7_000_000 };
  /** What the replica has heard about leases. */
  underLease = true;
  readonly node: RaftNode;
  readonly #storage = memoryStorage({
    index: 10,
    term: 1,
    confState: { ...EMPTY_CONF, voters: [1, 2, 3] },
    data: NO_DATA,
  });

  constructor(restarted = false) {
    const { clock } = this;
    this.#storage.setHardState({ term: 1, vote: 0, commit: 10 });
    this.node = createRaftNode({
      id: 1,
      storage: this.#storage,
      random: seededRandom(1),
      electionTicks: ELECTION_TICKS,
      heartbeatTicks: 2,
      applied: 10,
      asyncStorageWrites: false,
      preVote: true,
      checkQuorum: true,
      stepDownOnRemoval: true,
      lease: {
        inUse: () => this.underLease,
        monotonicMs: () => clock.monotonicMs,
        wallMs: () => clock.wallMs,
        promiseMs: PROMISE_MS,
        lengthMs: LENGTH_MS,
        jumpMs: 10,
        promised: restarted,
      },
      disableProposalForwarding: true,
      disableConfChangeValidation: false,
      messageBytesMax: 1e6,
      committedBytesMax: 1e6,
      uncommittedBytesMax: 1e6,
      inflightMessagesMax: 100,
      inflightBytesMax: 1e6,
    });
  }

  /** Time goes on, and no tick comes: as when the process stands still. */
  pass(ms: number): void {
    this.clock.monotonicMs += ms;
    this.clock.wallMs += ms;
  }

  /** Does all that there is to do. Returns what was sent, and how many reads may be answered. */
  work(): { readonly sent: readonly PeerMessage[]; readonly reads: number } {
    const sent: PeerMessage[] = [];
    let reads = 0;
    while (this.node.hasReady()) {
      const ready = this.node.ready();
      if (ready.hardState !== undefined) this.#storage.setHardState(ready.hardState);
      this.#storage.append(ready.entries);
      reads += ready.readStates.length;
      sent.push(...(ready.messages as PeerMessage[]));
      this.node.advance();
    }
    return { sent, reads };
  }

  lead(): void {
    this.node.campaign();
    this.work();
    const vote = { from: 2, to: 1, term: 2, reject: false, commit: 10, commitTerm: 1 } as const;
    this.node.step({ type: 'preVoteResponse', ...vote });
    this.work();
    this.node.step({ type: 'voteResponse', ...vote });
    this.work();
    const { term } = this.node;
    const done = { index: 11, logTerm: 0, reject: false, rejectHint: 0, commit: 10 } as const;
    for (const from of [2, 3])
      this.node.step({ type: 'appendResponse', from, to: 1, term, ...done });
    this.work();
    expect([this.node.role, this.node.committed]).toEqual(['leader', 11]);
  }

  /** Sends a round. Returns its number. */
  beat(peers = 2): number {
    this.node.tick();
    this.node.tick();
    const { sent } = this.work();
    const beats = sent.filter((message) => message.type === 'heartbeat');
    expect(beats).toHaveLength(peers);
    return beats[0]!.readContext;
  }

  answer(readContext: number, promised = true, from = 2): void {
    const { term } = this.node;
    const response = { from, to: 1, term, readContext, ...(promised && { promised }) } as const;
    this.node.step({ type: 'heartbeatResponse', ...response });
    this.work();
  }

  /** True when a read is answered without asking anybody. */
  readsAlone(): boolean {
    this.node.requestRead();
    const { sent, reads } = this.work();
    expect(sent.some((message) => message.type === 'heartbeat')).toBe(reads === 0);
    return reads === 1;
  }

  hear(term = this.node.term): readonly PeerMessage[] {
    const beat = { from: 3, to: 1, term, commit: 10, readContext: 0 } as const;
    this.node.step({ type: 'heartbeat', ...beat });
    return this.work().sent;
  }

  /** Whether it helps replica 2 in its election. */
  votes(transfer = false): boolean {
    const term = this.node.term + 1;
    const mark = { commit: 10, commitTerm: 1 };
    const request = { from: 2, to: 1, term, index: 20, logTerm: 9, transfer, ...mark } as const;
    this.node.step({ type: 'vote', ...request });
    return this.work().sent.some((message) => message.type === 'voteResponse' && !message.reject);
  }
}

function leader(): Subject {
  const subject = new Subject();
  subject.lead();
  subject.answer(subject.beat());
  return subject;
}

describe('a leader', () => {
  test('has none from a term before, however soon it leads again', () => {
    const subject = leader();
    subject.answer(subject.beat());
    expect(subject.readsAlone()).toBe(true);
    const { node } = subject;
    subject.hear(3); // of another, who hands leadership back
    node.step({ type: 'timeoutNow', from: 3, to: 1, term: 3 });
    subject.work();
    const vote = { from: 2, to: 1, term: 4, reject: false, commit: 10, commitTerm: 1 } as const;
    node.step({ type: 'voteResponse', ...vote });
    subject.work();
    const done = { index: node.lastIndex, logTerm: 0, reject: false, rejectHint: 0, commit: 10 };
    node.step({ type: 'appendResponse', from: 2, to: 1, term: 4, ...done });
    subject.work();
    expect([node.role, node.committed]).toEqual(['leader', node.lastIndex]);
    expect(subject.readsAlone()).toBe(false);
    subject.answer(subject.beat());
    expect(subject.readsAlone()).toBe(true);
  });

  test('reads alone from the sending of a round that a quorum answered, and not a moment longer', () => {
    const subject = new Subject();
    subject.lead();
    expect(subject.readsAlone()).toBe(false);
    const round = subject.beat();
    subject.pass(500);
    subject.answer(round);
    expect(subject.readsAlone()).toBe(true);
    subject.pass(LENGTH_MS - 501);
    expect(subject.readsAlone()).toBe(true);
    subject.pass(1);
    expect(subject.readsAlone()).toBe(false);
  });

  test('has no lease after it stood still, though no tick has passed', () => {
    const subject = leader();
    expect(subject.readsAlone()).toBe(true);
    subject.pass(5_000);
    expect(subject.readsAlone()).toBe(false);
    // an answer that comes only now proves no more than when its round was sent
    const late = leader();
    const round = late.beat();
    late.pass(5_000);
    late.answer(round);
    expect(late.readsAlone()).toBe(false);
  });

  test.each([
    ['forward, as after a machine was suspended', 5_000],
    ['back', -50],
  ])('has none when the wall clock has moved %s', (_, ms) => {
    const subject = leader();
    subject.clock.wallMs += 10;
    expect(subject.readsAlone()).toBe(true);
    subject.clock.wallMs += ms;
    expect(subject.readsAlone()).toBe(false);
    subject.answer(subject.beat());
    expect(subject.readsAlone()).toBe(true);
  });

  test('has none after a sleep, until the next round', () => {
    const subject = leader();
    subject.node.restartTimers();
    expect(subject.readsAlone()).toBe(false);
    subject.answer(subject.beat());
    expect(subject.readsAlone()).toBe(true);
  });

  test('has none by answers without a promise, and none while it knows of no leases', () => {
    const subject = new Subject();
    subject.lead();
    subject.answer(subject.beat(), false);
    expect(subject.readsAlone()).toBe(false);
    subject.underLease = false;
    subject.node.requestRead();
    const [round] = subject.work().sent;
    subject.answer((round as { readContext: number }).readContext);
    expect(subject.readsAlone()).toBe(false);
    subject.underLease = true;
    subject.answer(subject.beat());
    expect(subject.readsAlone()).toBe(true);
    subject.underLease = false;
    expect(subject.readsAlone()).toBe(false);
  });

  test('has none by rounds that were sent to other members', () => {
    const subject = leader();
    const round = subject.beat();
    subject.node.applyConfChange({
      transition: 'auto',
      steps: [{ kind: 'addLearner', replica: 4 }],
      context: NO_DATA,
    });
    subject.work();
    expect(subject.readsAlone()).toBe(false);
    subject.answer(round, true, 3);
    expect(subject.readsAlone()).toBe(false);
    subject.answer(subject.beat(3));
    expect(subject.readsAlone()).toBe(true);
  });

  test('has none once it hands over, for the rest of its term', () => {
    const subject = leader();
    subject.node.transferLeader(2);
    expect(subject.readsAlone()).toBe(false);
    for (let tick = 0; tick < ELECTION_TICKS; tick += 2) subject.answer(subject.beat());
    expect(subject.node.status().leadTransferee).toBe(0);
    expect([subject.node.role, subject.readsAlone()]).toEqual(['leader', false]);

    const asked = leader();
    asked.node.banLease();
    asked.answer(asked.beat());
    expect(asked.readsAlone()).toBe(false);
  });
});

describe('a voter', () => {
  test('that heard a leader helps nobody else, and not itself, while the promise holds', () => {
    const subject = new Subject();
    subject.hear();
    subject.node.forgetLeader();
    expect(subject.node.leader).toBe(3);
    // ticks that come too fast do not shorten it
    for (let tick = 0; tick < 3 * ELECTION_TICKS; tick++) subject.node.tick();
    subject.node.campaign();
    expect([subject.node.role, subject.work().sent]).toEqual(['follower', []]);
    subject.pass(PROMISE_MS - 1);
    expect(subject.votes()).toBe(false);
    subject.pass(1);
    expect(subject.votes()).toBe(true);
  });

  test('forgets its leader when told to, once the promise is over', () => {
    const subject = new Subject();
    subject.hear();
    expect(subject.node.promiseLeftMs).toBe(PROMISE_MS);
    subject.pass(PROMISE_MS - 1);
    subject.node.forgetLeader();
    expect([subject.node.leader, subject.node.promiseLeftMs]).toEqual([3, 1]);
    subject.pass(1);
    subject.node.forgetLeader();
    expect([subject.node.leader, subject.node.promiseLeftMs]).toEqual([0, 0]);
  });

  test('keeps the promise when a higher term makes it forget the leader', () => {
    const subject = new Subject();
    subject.hear();
    const { term } = subject.node;
    const refusal = { reject: true, commit: 10, commitTerm: 1 } as const;
    subject.node.step({ type: 'voteResponse', from: 2, to: 1, term: term + 5, ...refusal });
    expect([subject.node.term, subject.node.leader]).toEqual([term + 5, 0]);
    expect(subject.votes()).toBe(false);
    subject.pass(PROMISE_MS);
    expect(subject.votes()).toBe(true);
  });

  test('keeps the promise when there are to be no leases any more, and makes none', () => {
    const subject = new Subject();
    subject.hear();
    subject.underLease = false;
    subject.pass(PROMISE_MS - 1);
    subject.hear();
    subject.node.forgetLeader();
    expect(subject.votes()).toBe(false);
    subject.pass(1);
    subject.node.forgetLeader();
    expect(subject.votes()).toBe(true);
  });

  test('tells whether it has promised', () => {
    const subject = new Subject();
    expect(subject.hear()).toMatchObject([{ type: 'heartbeatResponse', promised: true }]);
    subject.underLease = false;
    expect(subject.hear()).not.toMatchObject([{ promised: true }]);
  });

  test('helps whom the leader hands over to', () => {
    const subject = new Subject();
    subject.hear();
    expect(subject.votes(true)).toBe(true);
  });

  test('that was restarted neither votes nor campaigns until a promise it forgot is over', () => {
    expect(new Subject().votes()).toBe(true);
    const subject = new Subject(true);
    subject.node.campaign();
    for (let tick = 0; tick < 3 * ELECTION_TICKS; tick++) subject.node.tick();
    expect(subject.node.role).toBe('follower');
    expect(subject.votes()).toBe(false);
    subject.pass(PROMISE_MS);
    expect(subject.votes()).toBe(true);
  });
});
