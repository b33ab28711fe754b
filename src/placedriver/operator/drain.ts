/** Nodes are emptied: the mark is a node's state, and the moves chore does the rest. */
import { KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { runInSlices } from '../../common/slices.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { encodeRecord, keys, type NodeStateRecord, SCHEMA_VERSION } from '../../meta/schema.ts';
import { hasTags } from '../balance/candidates.ts';
import { GroupStates } from '../balance/group-states.ts';
import { Tables } from '../balance/tables.ts';
import type { BalanceView } from '../balance/view.ts';
import { balanceView } from '../balance-view.ts';
import { Picture } from '../picture.ts';
import type { MasterTerm } from '../term.ts';
import { attempt } from './attempt.ts';
import { thereAre } from './known-names.ts';
import type { Operator } from './operator.ts';

type DrainRequests = Pick<Operator, 'drain' | 'undrain'>;

/** The drain of each term that was asked for last. */
const drains = new WeakMap<MasterTerm, Promise<void>>();

/** Drains are decided one after the other: two at once could leave too few nodes. */
function afterOthers(term: MasterTerm, decide: () => Promise<void>): Promise<void> {
  const next = (drains.get(term) ?? Promise.resolve()).catch(() => {}).then(decide);
  drains.set(term, next);
  return next;
}

export function drainRequests(term: MasterTerm): DrainRequests {
  return {
    drain: (node) => afterOthers(term, () => attempt(term, () => drain(term, node))),
    undrain: (node) => attempt(term, () => undrain(term, node)),
  };
}

/** Also of a node that is away: its replicas are made elsewhere without waiting for it. */
async function drain(term: MasterTerm, node: NodeId): Promise<boolean> {
  const { picture, clock, settings } = term;
  const stored = await stateOf(term, node);
  if (stored?.record.draining !== undefined) return true;
  const others = await drainedNodes(term);
  const known = balanceView(picture, settings, clock.wallMs());
  const view = { ...known, draining: new Set([...known.draining, ...others]) };
  const replicas = view.partitions.flatMap(({ record }) =>
    record.replicas.filter((replica) => replica.node === node),
  ).length;
  const isAlive = view.alive.some((record) => record.node === node);
  if (stored === undefined && !isAlive && replicas === 0) {
    const known = thereAre(view.alive.map((record) => record.node));
    throw new KvorumError('NOT_FOUND', `node: no node ${node}; ${known}`);
  }
  await checkRoomWithout(term, view, node);
  const sinceMs = clock.wallMs();
  const seen = stored?.record ?? { version: SCHEMA_VERSION, node, firstSeenMs: sinceMs };
  return write(term, { ...seen, draining: { sinceMs, replicas } }, stored?.modRevision ?? 0);
}

async function undrain(term: MasterTerm, node: NodeId): Promise<boolean> {
  const stored = await stateOf(term, node);
  if (stored?.record.draining === undefined) {
    throw new KvorumError('NOT_FOUND', `node: ${node} is not drained`);
  }
  const { draining: _, ...state } = stored.record;
  return write(term, state, stored.modRevision);
}

/** From the store: a mark that was set or taken back a moment ago counts. Throws BAD_RECORD. */
async function stateOf({ store }: MasterTerm, node: NodeId) {
  const key = keys.nodeState(node);
  const item = await store.get(key);
  if (item === undefined) return undefined;
  const record = decodeRecord(recordKinds.nodeState, key, item.value);
  return { record, modRevision: item.modRevision };
}

/** From the store as well: what cannot be read there marks nobody. */
async function drainedNodes({ store }: MasterTerm): Promise<NodeId[]> {
  const picture = new Picture();
  picture.list((await store.range(keys.nodeStates)).items);
  return picture.nodeStates().flatMap(({ record }) => (record.draining ? [record.node] : []));
}

async function write(
  { store, fence, logger }: MasterTerm,
  state: NodeStateRecord,
  modRevision: number,
): Promise<boolean> {
  const key = keys.nodeState(state.node);
  const { succeeded } = await store.transaction(
    [fence, { key, modRevision }],
    [{ type: 'put', key, value: encodeRecord(state) }],
  );
  if (!succeeded) return false;
  const { node, draining } = state;
  logger.info(draining ? 'node to be drained' : 'node is drained no more', { node });
  return true;
}

/** Rejects with CONFLICT when the nodes that stay could not hold what there is. */
async function checkRoomWithout(
  { clock }: MasterTerm,
  view: BalanceView,
  node: NodeId,
): Promise<void> {
  const draining = new Set([...view.draining, node]);
  const without = { ...view, draining };
  const states = new GroupStates(without);
  const tables = new Tables(without, states);
  for (const { name, replicas, tags } of tables.namespaces) {
    const staying = view.alive.filter(
      (record) => !states.isLeaving(record.node) && hasTags(record, tags),
    ).length;
    if (staying >= replicas) continue;
    const text = `node: without ${node} there are ${staying} nodes for ${replicas} replicas of ${name}; add nodes or lower its replicas`;
    throw new KvorumError('CONFLICT', text);
  }
  const before = view.alive.filter((record) => tables.isOverfull(record.node));
  await runInSlices(tables.plan('repair'), clock, limits.planSliceMs);
  const over = view.alive.find(
    (record) => !before.includes(record) && tables.isOverfull(record.node),
  );
  if (over === undefined) return;
  const text = `node: without ${node} node ${over.node} would have to hold more than its capacity of ${over.capacity}; add nodes`;
  throw new KvorumError('CONFLICT', text);
}
