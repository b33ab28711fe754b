/**
 * What is committed is the same on every replica for ever (state machine safety), and every later
 * leader has it (leader completeness), so every acknowledged write is in every later leader's log.
 */
import { crc32 } from '../../../src/common/checksum.ts';
import type { GroupId, LogIndex, Term } from '../../../src/common/ids.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

/** Where the sum over an entry begins. */
const kinds: readonly Entry['kind'][] = ['normal', 'confChange', 'confChangeV2'];

interface Committed {
  readonly term: Term;
  /** The term in which somebody first knew of it: later leaders must have it. */
  readonly knownIn: Term;
  readonly sum: number;
}

export function logChecker(): Checker {
  const histories = new Map<GroupId, Map<LogIndex, Committed>>();
  const newest = new Map<GroupId, LogIndex>();
  const seen = new WeakMap<object, LogIndex>();
  const ledTerm = new WeakMap<object, Term>();

  const compareCommitted = ({ group, replica, node }: Observed) => {
    const { raft, log } = replica.inspect();
    // what is committed and not applied may not have reached the log yet
    const applied = replica.appliedIndex;
    const history = histories.get(group) ?? new Map<LogIndex, Committed>();
    histories.set(group, history);
    const from = Math.max(log.firstIndex(), (seen.get(replica) ?? 0) + 1);
    for (let index = from; index <= applied; index++) {
      const entries = log.entries(index, index + 1, Number.MAX_SAFE_INTEGER);
      const entry = entries === 'compacted' ? undefined : entries[0];
      if (entry === undefined) continue;
      const sum = crc32(entry.data, kinds.indexOf(entry.kind));
      const known = history.get(index) ?? { term: entry.term, knownIn: raft.term, sum };
      history.set(index, known);
      if (known.term === entry.term && known.sum === sum) continue;
      const text = `group ${group} index ${index}: term ${known.term} was committed, ${node} commits term ${entry.term}`;
      throw new Violation('log', text);
    }
    seen.set(replica, applied);
    newest.set(group, Math.max(newest.get(group) ?? 0, applied));
  };

  const checkLeader = ({ group, replica, node }: Observed) => {
    const { raft, log } = replica.inspect();
    if (raft.role !== 'leader' || ledTerm.get(replica) === raft.term) return;
    ledTerm.set(replica, raft.term);
    const history = histories.get(group) ?? new Map<LogIndex, Committed>();
    // one that was elected late, of an older term, may lack what is newer
    let needed = newest.get(group) ?? 0;
    while (needed > 0 && (history.get(needed)?.knownIn ?? raft.term) >= raft.term) needed--;
    const { lastIndex } = raft.status();
    const fail = (text: string) => {
      throw new Violation('log', `group ${group}: ${node} leads term ${raft.term}, ${text}`);
    };
    if (lastIndex < needed) fail(`its log ends at ${lastIndex}, ${needed} is committed`);
    for (let index = log.firstIndex(); index <= needed; index++) {
      const known = history.get(index);
      const term = log.term(index);
      if (known === undefined || typeof term !== 'number' || term === known.term) continue;
      fail(`index ${index} has term ${term}, committed was term ${known.term}`);
    }
  };

  return {
    name: 'log',
    onMoved(observed) {
      compareCommitted(observed);
      checkLeader(observed);
    },
  };
}
