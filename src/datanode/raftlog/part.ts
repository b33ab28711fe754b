/** One append: checked as a whole before anything changes, split when too large, encoded. */
import { assert } from '../../common/assert.ts';
import { KvorumError } from '../../common/errors.ts';
import type { LogIndex } from '../../common/ids.ts';
import { type Entry, type HardState, NONE } from '../raft/message.ts';
import type { Batch } from './batch.ts';
import {
  COMPACT_BYTES,
  ENTRY_HEADER_BYTES,
  HARD_STATE_BYTES,
  RESET_BYTES,
  TOMBSTONE_BYTES,
  TRUNCATE_BYTES,
} from './format.ts';
import { keptEntries } from './kept-entries.ts';
import type { LogState } from './log-state.ts';
import type { LogAppend, LogBase } from './raft-log.ts';
import type { ReplicaState } from './replica-log.ts';

const PLAIN_RECORDS_BYTES =
  RESET_BYTES + TRUNCATE_BYTES + HARD_STATE_BYTES + COMPACT_BYTES + TOMBSTONE_BYTES;

/** Throws unless `part` may be appended to `log` as it is now. */
export function checkPart(log: LogState, part: LogAppend): void {
  const { replica, reset, entries, hardState } = part;
  if (log.tombstones.has(replica)) {
    throw new KvorumError('REPLICA_GONE', `replica ${replica} was removed from this node`);
  }
  const state = log.replicas.get(replica);
  if (state === undefined && reset === undefined) {
    assert(
      part.tombstone,
      () => `replica ${replica} is not in the log: its first part has a reset`,
    );
    assert(!entries?.length && !hardState && !part.compact, () => `replica ${replica} has no log`);
    return;
  }
  const base = reset?.base ?? state!.base;
  const last = reset !== undefined ? base.index : state!.lastIndex();
  const afterEntries = checkEntries(replica, base, last, entries ?? []);
  if (hardState !== undefined) {
    checkHardState(replica, state, hardState);
    assert(
      hardState.commit >= base.index,
      () => `replica ${replica}: commit before the log's base`,
    );
  }
  if (part.compact !== undefined) checkCompact(part, state, base, afterEntries);
}

function checkEntries(
  replica: number,
  base: LogBase,
  last: number,
  entries: readonly Entry[],
): number {
  const first = entries[0];
  if (first === undefined) return last;
  assert(first.index > base.index, () => `entry ${first.index} of ${replica} is compacted`);
  assert(
    first.index <= last + 1,
    () => `entry ${first.index} of ${replica} leaves a gap after ${last}`,
  );
  let [index, term] = [first.index, base.term];
  for (const entry of entries) {
    assert(
      entry.index === index,
      () => `entry ${entry.index} of ${replica} where ${index} belongs`,
    );
    assert(entry.term >= term, () => `entry ${index} of ${replica}: the term goes back`);
    index++;
    term = entry.term;
  }
  return index - 1;
}

function checkHardState(replica: number, state: ReplicaState | undefined, next: HardState): void {
  if (state === undefined) return;
  const { term, vote, commit } = state.hardState;
  assert(next.term >= term, () => `replica ${replica}: term ${next.term} after ${term}`);
  const mayVote = next.term > term || vote === NONE || next.vote === vote;
  assert(mayVote, () => `replica ${replica}: second vote in term ${term}`);
  assert(next.commit >= commit, () => `replica ${replica}: commit ${next.commit} after ${commit}`);
}

function checkCompact(
  part: LogAppend,
  state: ReplicaState | undefined,
  base: LogBase,
  last: number,
): void {
  const to = part.compact!;
  if (to.index <= base.index) return; // already gone
  assert(to.index <= last, () => `replica ${part.replica}: compacts to ${to.index} beyond ${last}`);
  const own = part.entries?.find((entry) => entry.index === to.index)?.term;
  const term = own ?? state?.term(to.index);
  assert(term === to.term, () => `replica ${part.replica}: entry ${to.index} has term ${term}`);
}

/** Bytes `part` takes in a batch, at most. */
export function partBytes(part: LogAppend): number {
  let bytes = PLAIN_RECORDS_BYTES;
  for (const entry of part.entries ?? []) bytes += ENTRY_HEADER_BYTES + entry.data.length;
  return bytes;
}

/**
 * Pieces of at most `bytesMax`, each atomic by itself (one entry alone may exceed it). The first
 * has the new term and vote, so that no entry is ever found with a term above the replica's; each
 * has of the commit index what its entries reach: none is found beyond the log, and a crash between
 * pieces leaves what was known to be committed of those that it spared.
 */
export function splitPart(log: LogState, part: LogAppend, bytesMax: number): LogAppend[] {
  if (partBytes(part) <= bytesMax) return [part];
  const entries = part.entries ?? [];
  const { replica, reset, hardState } = part;
  const before = Math.max(log.replicas.get(replica)?.hardState.commit ?? 0, reset?.base.index ?? 0);
  const reached = (last: LogIndex): HardState | undefined =>
    hardState && { ...hardState, commit: Math.max(before, Math.min(hardState.commit, last)) };
  const pieces: LogAppend[] = [];
  let from = 0;
  while (from < entries.length) {
    let bytes = PLAIN_RECORDS_BYTES + ENTRY_HEADER_BYTES + entries[from]!.data.length;
    let to = from + 1;
    for (; to < entries.length; to++) {
      bytes += ENTRY_HEADER_BYTES + entries[to]!.data.length;
      if (bytes > bytesMax) break;
    }
    const head = reached(entries[to - 1]!.index);
    pieces.push({ replica, entries: entries.slice(from, to), ...(head && { hardState: head }) });
    from = to;
  }
  pieces[0] = { ...pieces[0]!, ...(reset && { reset }) };
  const end = { ...part, entries: pieces.at(-1)!.entries ?? [] };
  if (pieces.length > 1) {
    const { reset: _, ...rest } = end;
    pieces[pieces.length - 1] = rest;
  } else {
    pieces[0] = end;
  }
  return pieces;
}

/** Encodes a checked part into `batch` and changes the state by it, record by record. */
export function encodePart(log: LogState, batch: Batch, part: LogAppend): void {
  const { replica } = part;
  if (part.reset !== undefined) {
    const { base, generation } = part.reset;
    const [baseIndex, baseTerm] = [base.index, base.term];
    batch.add({ kind: 'reset', replica, baseIndex, baseTerm, generation });
    (log.replicas.get(replica) ?? log.create(replica)).reset(base, generation);
  }
  if (part.entries !== undefined) encodeEntries(log.replica(replica), batch, part.entries);
  if (part.hardState !== undefined) {
    const { term, vote, commit } = part.hardState;
    const hardState = { term, vote, commit };
    batch.add({ kind: 'hardState', replica, hardState });
    log.replica(replica).setHardState(hardState);
  }
  if (part.compact !== undefined && part.compact.index > log.replica(replica).base.index) {
    const { index, term } = part.compact;
    batch.add({ kind: 'compact', replica, baseIndex: index, baseTerm: term });
    log.replica(replica).compact({ index, term });
  }
  if (part.tombstone) {
    batch.add({ kind: 'tombstone', replica });
    log.bury(replica);
  }
}

function encodeEntries(state: ReplicaState, batch: Batch, entries: readonly Entry[]): void {
  const first = entries[0];
  if (first === undefined) return;
  if (first.index <= state.lastIndex()) {
    const lastIndex = first.index - 1;
    batch.add({ kind: 'truncate', replica: state.replica, lastIndex });
    state.truncate(lastIndex);
  }
  for (const entry of keptEntries(entries)) {
    const offset = batch.addEntry('entry', state.replica, entry);
    const bytes = ENTRY_HEADER_BYTES + entry.data.length;
    state.append(entry.term, { segment: batch.place.segment, offset, bytes }, entry);
  }
}
