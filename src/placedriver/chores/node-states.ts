/**
 * Remembers every datanode ever seen, since when it is away, and how many there were at most (the
 * stable node count). All of it is in the metadata store: the wait for a lost node goes on over a
 * change of master.
 */
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import {
  type ControlRecord,
  encodeRecord,
  keys,
  type NodeStateRecord,
  SCHEMA_VERSION,
} from '../../meta/schema.ts';
import type { Compare, MetaOperation } from '../../meta/store.ts';
import { firstControl } from '../control-record.ts';
import { fencedChange } from '../fenced.ts';
import type { Picture, Stored } from '../picture.ts';
import type { MasterTerm } from '../term.ts';

interface Change {
  readonly unchanged: Compare;
  readonly operation: MetaOperation;
  readonly told: string;
}

/** Writes only what has changed; what somebody else changed meanwhile is left to the next look. */
export async function trackNodes(term: MasterTerm): Promise<number | undefined> {
  const { store, fence, leadership, logger } = term;
  const { changes, againMs } = planNodeChanges(term);
  const control = planControl(term);
  const all = control === undefined ? changes : [control, ...changes];
  // each operation has its compare, and the fence is one more
  const atOnce = limits.metaTxnOperationsMax - 1;
  for (let at = 0; at < all.length; at += atOnce) {
    if (leadership.lost.aborted) return undefined;
    const part = all.slice(at, at + atOnce);
    const unchanged = part.map((change) => change.unchanged);
    const operations = part.map((change) => change.operation);
    if (!(await fencedChange(store, fence, unchanged, operations))) return undefined;
    for (const { told, operation } of part) logger.info(told, { key: operation.key });
  }
  return againMs;
}

/** Grows the stable node count; writes the record when there is none. */
function planControl({ picture, settings }: MasterTerm): Change | undefined {
  if (picture.unreadable(keys.control).size > 0) return undefined;
  const stored = picture.control();
  const alive = picture.aliveNodes().length;
  if (stored !== undefined && stored.record.stableNodes >= alive) return undefined;
  const next: ControlRecord =
    stored === undefined ? firstControl(settings, alive) : { ...stored.record, stableNodes: alive };
  return put(keys.control, stored, next, `the stable node count is ${alive}`);
}

function planNodeChanges(term: MasterTerm): { changes: Change[]; againMs: number | undefined } {
  const { picture, clock, settings } = term;
  const nowMs = clock.wallMs();
  const registered = registeredNodes(picture);
  const states = new Map(picture.nodeStates().map((stored) => [stored.record.node, stored]));
  const holders = holdersOf(picture);
  const changes: Change[] = [];
  for (const node of [...registered, ...holders.wanted].sort()) {
    if (states.has(node) || picture.unreadable(keys.nodeStates).has(keys.nodeState(node))) continue;
    const seen: NodeStateRecord = { version: SCHEMA_VERSION, node, firstSeenMs: nowMs };
    const first = registered.has(node) ? seen : { ...seen, lostSinceMs: nowMs };
    states.set(node, { record: first, modRevision: 0, readable: true });
    changes.push(put(keys.nodeState(node), undefined, first, 'a datanode is new'));
  }
  let againMs: number | undefined;
  for (const [node, stored] of states) {
    if (stored.modRevision === 0) continue;
    const change = planPresence(stored, registered.has(node), nowMs);
    if (change !== undefined) changes.push(change);
    else if (stored.record.lostSinceMs !== undefined && !holders.mayHold(node)) {
      const leftMs = stored.record.lostSinceMs + settings.migrateWaitMs - nowMs;
      if (leftMs <= 0) changes.push(forget(node, stored));
      else againMs = Math.min(againMs ?? leftMs, leftMs);
    }
  }
  return { changes, againMs };
}

/** Also those whose records cannot be read: their leases hold. */
function registeredNodes(picture: Picture): ReadonlySet<NodeId> {
  const registered = new Set(picture.aliveNodes().map(({ node }) => node));
  for (const key of picture.unreadable(keys.nodes)) registered.add(key.slice(keys.nodes.length));
  return registered;
}

function planPresence(
  stored: Stored<NodeStateRecord>,
  registered: boolean,
  nowMs: number,
): Change | undefined {
  const { lostSinceMs, writtenOff, ...seen } = stored.record;
  const key = keys.nodeState(seen.node);
  const lostNow: NodeStateRecord = { ...stored.record, lostSinceMs: nowMs };
  if (registered) {
    if (lostSinceMs === undefined && writtenOff === undefined) return undefined;
    return put(key, stored, seen, 'a datanode is back');
  }
  if (lostSinceMs === undefined) {
    return put(key, stored, lostNow, 'a datanode is away');
  }
  if (lostSinceMs <= nowMs) return undefined;
  // noted by a clock that was ahead of this one: its wait must not grow by the difference
  const told = 'a datanode is away since a moment that is still to come: it counts from now on';
  return put(key, stored, lostNow, told);
}

/**
 * A node that has been away for the whole wait and holds nothing is none of the cluster's any more:
 * it neither counts as lost nor keeps the others from being evened out. The stable node count still
 * tells how many there were; when the node comes back it is a new one.
 */
function forget(node: NodeId, { modRevision }: Stored<NodeStateRecord>): Change {
  const key = keys.nodeState(node);
  const unchanged = { key, modRevision };
  return {
    unchanged,
    operation: { type: 'delete', key },
    told: 'a datanode that held nothing is gone for good',
  };
}

interface Holders {
  /** Of the replicas that wanted records name. */
  readonly wanted: ReadonlySet<NodeId>;
  mayHold(node: NodeId): boolean;
}

/**
 * As long as a group has members that its wanted record does not name, or nobody tells its members,
 * or a record cannot be read, any node may be one that is still needed.
 */
function holdersOf(picture: Picture): Holders {
  const wanted = new Set<NodeId>();
  let certain =
    picture.unreadable(keys.partitions).size === 0 && picture.unreadable(keys.leaders).size === 0;
  for (const { record } of picture.partitions()) {
    for (const { node } of record.replicas) wanted.add(node);
    const leader = picture.leader(record);
    const named = new Set(record.replicas.map(({ replica }) => replica));
    const members = leader && [...leader.membership.voters, ...leader.membership.learners];
    if (!members?.every((replica) => named.has(replica))) certain = false;
  }
  return { wanted, mayHold: (node) => !certain || wanted.has(node) };
}

function put(
  key: string,
  stored: Stored<unknown> | undefined,
  next: { readonly version: number },
  told: string,
): Change {
  return {
    unchanged: { key, modRevision: stored?.modRevision ?? 0 },
    operation: { type: 'put', key, value: encodeRecord(next) },
    told,
  };
}
