/**
 * Applied never passes committed, nor committed the log; within a life both only grow; the engine's
 * own record names the applied index; replicas at the same index hold the same data.
 */
import type { LogIndex } from '../../../src/common/ids.ts';
import { STATE_KEY } from '../../../src/datanode/encoding/records/system.ts';
import { createView } from '../../../src/datanode/encoding/txn/txn.ts';
import { decodeState } from '../../../src/datanode/partition/storage/state.ts';
import { hashOf } from '../engine.ts';
import { type Checker, type Observed, Violation } from './checker.ts';
import { isEmptying } from './emptying.ts';

export function applyChecker(): Checker {
  const marks = new WeakMap<object, { committed: LogIndex; applied: LogIndex }>();
  const hashes = new Map<string, { readonly hash: number; readonly node: string }>();

  const checkOrder = ({ replica, node }: Observed) => {
    const { raft } = replica.inspect();
    const { committed } = raft;
    const applied = replica.appliedIndex;
    const { lastIndex } = raft;
    const before = marks.get(replica) ?? { committed: 0, applied: 0 };
    marks.set(replica, { committed, applied });
    const ordered = applied <= committed && committed <= lastIndex;
    if (ordered && committed >= before.committed && applied >= before.applied) return;
    const now = `applied ${applied}, committed ${committed}, last ${lastIndex}`;
    const was = `applied ${before.applied}, committed ${before.committed}`;
    throw new Violation('apply', `${node} replica ${replica.id}: ${now}; before: ${was}`);
  };

  const checkState = (observed: Observed) => {
    const { group, replica, node } = observed;
    const index = replica.appliedIndex;
    const { engine } = replica.inspect();
    const stored = createView(engine).get(STATE_KEY);
    const state = stored && decodeState(stored, `${node} replica ${replica.id}`);
    if (state === undefined || state.index < index) {
      throw new Violation(
        'apply',
        `${node} replica ${replica.id}: applied ${index}, its engine says ${state?.index}`,
      );
    }
    // a batch may be in the engine a moment before its replica is told
    if (state.index !== index || index === 0 || isEmptying(observed)) return;
    const hash = hashOf(engine);
    const known = hashes.get(`${group} ${index}`) ?? { hash, node };
    hashes.set(`${group} ${index}`, known);
    if (known.hash === hash) return;
    const text = `group ${group} index ${index}: ${node} holds other data than ${known.node} did`;
    throw new Violation('apply', text);
  };

  return {
    name: 'apply',
    onMoved(observed) {
      checkOrder(observed);
      checkState(observed);
    },
  };
}
