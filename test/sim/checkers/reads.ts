/**
 * A read that is confirmed sees everything that was committed, by any leader, before its round was
 * asked for: white box, at the core's own door, so that reads nobody sent count too.
 */
import type { GroupId, LogIndex } from '../../../src/common/ids.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function readChecker(): Checker {
  const committed = new Map<GroupId, LogIndex>();
  const watched = new WeakSet<RaftNode>();
  /** Thrown at the core's door it would only stop the replica. */
  let found: Violation | undefined;

  const watch = ({ group, node, replica }: Observed) => {
    const { raft } = replica.inspect();
    if (watched.has(raft)) return;
    watched.add(raft);
    const floors = new Map<number, LogIndex>();
    const ask = raft.requestRead.bind(raft);
    const take = raft.ready.bind(raft);
    raft.requestRead = () => {
      const context = ask();
      // rounds are joined: the highest number asked for answers for those before it
      if (context !== undefined) floors.set(context, committed.get(group) ?? 0);
      return context;
    };
    raft.ready = () => {
      const ready = take();
      for (const { readContext, index } of ready.readStates) {
        for (const [context, floor] of floors) {
          if (context > readContext) break;
          floors.delete(context);
          if (index >= floor) continue;
          const text = `group ${group}: ${node} confirms a read at ${index}, ${floor} was committed before`;
          found ??= new Violation('reads', text);
        }
      }
      return ready;
    };
  };

  return {
    name: 'reads',
    onMoved(observed) {
      if (found !== undefined) throw found;
      watch(observed);
      const { raft } = observed.replica.inspect();
      const known = committed.get(observed.group) ?? 0;
      committed.set(observed.group, Math.max(known, raft.committed));
    },
  };
}
