/** Queues stay within their bounds (decision 20). */
import { limits } from '../../../src/common/limits.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function boundsChecker(): Checker {
  return {
    name: 'bounds',
    onMoved({ node, replica }: Observed) {
      const { waiting, raft } = replica.inspect();
      const queues: [name: string, length: number, bound: number][] = [
        ['writes that wait', waiting.writes, limits.proposalsPerPartitionMax],
        ['reads that wait', waiting.reads, limits.proposalsPerPartitionMax],
      ];
      for (const { replica: to, inflight } of raft.status().progress) {
        queues.push([`appends under way to ${to}`, inflight, limits.raftInflightMessagesMax]);
      }
      for (const [name, length, bound] of queues) {
        if (length <= bound) continue;
        throw new Violation(
          'bounds',
          `${node} replica ${replica.id}: ${length} ${name} (${bound})`,
        );
      }
    },
  };
}
