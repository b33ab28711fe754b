/**
 * Whether a replica holds a part of a FLUSHALL: from the moment its range is cleared to the batch
 * that names the entry, and after a crash or on a snapshot of then, its data is that of no index. The
 * product's own mark says so; it names the next entry and no other.
 */
import { findEmptying } from '../../../src/datanode/encoding/keyspace/emptying.ts';
import { createView } from '../../../src/datanode/encoding/txn/txn.ts';
import { type Observed, Violation } from './checker.ts';

/** Throws Violation when a mark was left behind. */
export function isEmptying({ group, node, replica }: Observed): boolean {
  const mark = findEmptying(createView(replica.inspect().engine));
  if (mark === undefined) return false;
  if (mark.index === replica.appliedIndex + 1) return true;
  const text = `applied ${replica.appliedIndex}, and a mark of a FLUSHALL at ${mark.index}`;
  throw new Violation('apply', `group ${group} ${node} replica ${replica.id}: ${text}`);
}
