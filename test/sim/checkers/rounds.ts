/**
 * A round of reads that a leader confirms was heard by a quorum of voters, in its term: an answer to
 * an earlier round, or of another group, proves nothing. White box: a stale read that follows from
 * less needs an old answer, a deposed leader and a client in the same moment. Under leases a round
 * may be heard by nobody: then a quorum must have promised, in their answers, to elect nobody else,
 * and the promises hold by the simulator's own time. Who promised does not vote.
 */
import type { GroupId, ReplicaId, Term } from '../../../src/common/ids.ts';
import type { ConfState } from '../../../src/datanode/raft/message.ts';
import { jointVote } from '../../../src/datanode/raft/quorum.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import type { SimCluster } from '../cluster.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

type Confirmed = { readonly group: GroupId; readonly term: Term; readonly leader: ReplicaId };

export function roundChecker(): Checker {
  /** Per leadership and voter, the newest round it has heard of. */
  const heard = new Map<string, Map<ReplicaId, number>>();
  /** Per voter, whom it heard last, and until when it promised nobody else its vote. */
  const promises = new Map<
    ReplicaId,
    { readonly to: ReplicaId; readonly term: Term; untilMs: number }
  >();
  const watched = new WeakSet<RaftNode>();
  /** Thrown at the core's door it would only stop the replica. */
  let found: Violation | undefined;

  const roundsOf = ({ group, term, leader }: Confirmed) => {
    const key = `${group} ${term} ${leader}`;
    const rounds = heard.get(key) ?? new Map<ReplicaId, number>();
    heard.set(key, rounds);
    return rounds;
  };

  const watch = ({ group, node, replica }: Observed, { plan, scheduler }: SimCluster) => {
    const { raft } = replica.inspect();
    if (watched.has(raft)) return;
    watched.add(raft);
    const step = raft.step.bind(raft);
    const take = raft.ready.bind(raft);
    raft.step = (message) => {
      const promise = promises.get(replica.id);
      if (message.type === 'snapshot') noteMembers();
      const result = step(message);
      if (message.type === 'vote' && !message.transfer) {
        const { term, vote } = raft.status().hardState;
        const voted =
          vote === message.from && term === message.term && term > (promise?.term ?? term);
        if (voted && scheduler.nowMs < promise!.untilMs) {
          found ??= new Violation(
            'rounds',
            `group ${group}: ${node} votes and has promised not to`,
          );
        }
      }
      if (message.type === 'heartbeat' && message.term === raft.term) {
        const rounds = roundsOf({ group, term: message.term, leader: message.from });
        rounds.set(replica.id, Math.max(rounds.get(replica.id) ?? 0, message.readContext));
        heardAt.set(message.readContext, scheduler.nowMs);
      }
      return result;
    };
    const heardAt = new Map<number, number>();
    /** The members before they changed for the first time since the last `ready`. */
    let before: ConfState | undefined;
    const noteMembers = () => {
      before ??= raft.status().confState;
    };
    const change = raft.applyConfChange.bind(raft);
    raft.applyConfChange = (next) => {
      noteMembers();
      return change(next);
    };
    raft.ready = () => {
      const ready = take();
      for (const message of ready.messages) {
        if (message.type !== 'heartbeatResponse' || !message.promised) continue;
        // the fastest clock has it over first
        const { to, term, readContext } = message;
        const untilMs = heardAt.get(readContext)! + plan.leasePromiseMs / (1 + plan.drift);
        const before = promises.get(replica.id);
        if (before?.term === term && before.untilMs > untilMs) continue;
        promises.set(replica.id, { to, term, untilMs });
      }
      heardAt.clear();
      const newest = ready.readStates.at(-1);
      if (newest !== undefined && raft.role === 'leader') {
        const { id, hardState, confState } = raft.status();
        const rounds = roundsOf({ group, term: hardState.term, leader: id });
        const votes = new Map([[id, true]]);
        for (const [voter, round] of rounds)
          if (round >= newest.readContext) votes.set(voter, true);
        for (const [voter, { to, term, untilMs }] of promises) {
          if (to === id && term === hardState.term && scheduler.nowMs < untilMs)
            votes.set(voter, true);
        }
        // the members may have changed between the answer and now
        if (![before ?? confState, confState].some((conf) => jointVote(conf, votes) === 'won')) {
          const text = `group ${group}: ${node} confirms round ${newest.readContext} that only ${[...votes.keys()]} heard`;
          found ??= new Violation('rounds', text);
        }
      }
      before = undefined;
      return ready;
    };
  };

  return {
    name: 'rounds',
    onMoved(observed, cluster) {
      if (found !== undefined) throw found;
      watch(observed, cluster);
    },
  };
}
