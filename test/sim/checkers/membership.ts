/** At most one membership change of a group is unapplied; the epoch it serves never goes back. */
import type { Epoch } from '../../../src/common/ids.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function membershipChecker(): Checker {
  /** Within a life: after a loss of power the engine may be behind its log again. */
  const epochs = new WeakMap<object, Epoch>();
  return {
    name: 'membership',
    onMoved({ group, replica, node }: Observed) {
      const { raft, log } = replica.inspect();
      const { epoch } = replica.state;
      if (epoch < (epochs.get(replica) ?? 0)) {
        const text = `${node} replica ${replica.id}: epoch ${epoch} after ${epochs.get(replica)}`;
        throw new Violation('membership', text);
      }
      epochs.set(replica, epoch);
      if (raft.role !== 'leader') return;
      let changes = 0;
      const from = Math.max(log.firstIndex(), replica.appliedIndex + 1);
      const entries = log.entries(from, log.lastIndex() + 1, Number.MAX_SAFE_INTEGER);
      if (entries === 'compacted') return;
      for (const entry of entries) {
        if (entry.kind !== 'normal') changes++;
      }
      if (changes > 1) {
        throw new Violation('membership', `group ${group}: ${changes} changes are unapplied`);
      }
    },
  };
}
