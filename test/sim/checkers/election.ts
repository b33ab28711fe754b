/** Election safety: at most one leader per group and term. */
import { type Checker, type Observed, Violation } from './checker.ts';

export function electionChecker(): Checker {
  const leaders = new Map<string, number>();
  return {
    name: 'election',
    onMoved({ group, replica }: Observed) {
      const { raft } = replica.inspect();
      if (raft.role !== 'leader') return;
      const key = `${group} ${raft.term}`;
      const known = leaders.get(key) ?? replica.id;
      leaders.set(key, known);
      if (known !== replica.id) {
        const text = `group ${group} term ${raft.term} is led by ${known} and ${replica.id}`;
        throw new Violation('election', text);
      }
    },
  };
}
