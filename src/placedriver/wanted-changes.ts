/** Writes what was planned into the wanted records, each only if it is still what was looked at. */
import { must } from '../common/assert.ts';
import type { ReplicaId, Revision } from '../common/ids.ts';
import { encodeRecord, keys, type PartitionRecord, type ReplicaRecord } from '../meta/schema.ts';
import type { Compare } from '../meta/store.ts';
import type { NewPlace, WantedChange } from './balance/plan-moves.ts';
import { reserveIds } from './fenced.ts';
import type { Picture, StoredPartition } from './picture.ts';
import type { MasterTerm } from './term.ts';

/** Records in one transaction, where it only says who should lead. */
const ORDERS_PER_WRITE = 32;
/** In one go: whatever is left is seen again at once. */
const WRITES_MAX = 16;

type Change = WantedChange<StoredPartition>;

/**
 * Resolves to how many changes were written: those whose record changed meanwhile are not, nor moves
 * when the cluster's switches did (they were of `controlRevision` when the moves were planned), nor
 * any once this placedriver is master no more. Each new replica gets an id that was never used.
 */
export async function writeChanges(
  term: MasterTerm,
  controlRevision: Revision,
  changes: readonly Change[],
): Promise<number> {
  const groups = grouped(changes).slice(0, WRITES_MAX);
  const places = groups.flat().filter(({ move }) => move?.to !== undefined).length;
  if (places > 0 && term.leadership.lost.aborted) return 0;
  const ids =
    places > 0
      ? await reserveIds(term.store, term.fence, { groups: 0, replicas: places })
      : undefined;
  let nextReplica = ids?.nextReplica ?? 0;
  let written = 0;
  for (const group of groups) {
    if (term.leadership.lost.aborted) return written;
    const records = group.map((change) => nextRecord(term, change, () => nextReplica++));
    if (await write(term, controlRevision, group, records)) written += group.length;
  }
  return written;
}

/** A replica's move is written alone, so that one that fails holds up no other. */
function grouped(changes: readonly Change[]): Change[][] {
  const moves = changes.filter(({ move }) => move !== undefined);
  const orders = changes.filter(({ move }) => move === undefined);
  const groups = moves.map((change) => [change]);
  for (let at = 0; at < orders.length; at += ORDERS_PER_WRITE) {
    groups.push(orders.slice(at, at + ORDERS_PER_WRITE));
  }
  return groups;
}

function nextRecord(
  { clock, leadership }: MasterTerm,
  { partition: { record }, replicas, move }: Change,
  draw: () => ReplicaId,
): PartitionRecord {
  const named = replicas.map((replica) => withId(replica, draw));
  const moved = move && {
    ...(move.from && { from: move.from }),
    ...(move.to && { to: must(named.at(-1), 'a new place comes last') }),
    ...(move.givesUp && move.drops && { gaveUp: move.drops }),
    why: move.why,
    sinceMs: clock.wallMs(),
  };
  return {
    ...record,
    replicas: named,
    ...(moved && { move: moved }),
    epoch: record.epoch + 1,
    fence: leadership.revision,
  };
}

function withId(replica: ReplicaRecord | NewPlace, draw: () => ReplicaId): ReplicaRecord {
  return 'replica' in replica ? replica : { replica: draw(), ...replica };
}

/** No replica moves by switches that were others when the move was planned: upgrade mode is one. */
function switchesFor(modRevision: Revision, group: readonly Change[]): Compare[] {
  if (group.every(({ move }) => move === undefined)) return [];
  return [{ key: keys.control, modRevision }];
}

/**
 * A replica that stays after all was left out by the record: its node destroys it once the leader has
 * told members without it. So it stays only if that was not told when this is written. Undefined: it
 * was told already.
 */
function untoldYet(picture: Picture, group: readonly Change[]): Compare[] | undefined {
  const compares: Compare[] = [];
  for (const { partition, move } of group) {
    if (move?.returns === undefined) continue;
    const { record } = partition;
    const leader = picture.storedLeader(record);
    const voters = leader?.readable && !leader.record.membership.joint && leader.record.membership;
    if (!voters || !move.returns.every(({ replica }) => voters.voters.includes(replica))) {
      return undefined;
    }
    const key = keys.leader(record.namespace, record.partition);
    compares.push({ key, modRevision: leader.modRevision });
  }
  return compares;
}

async function write(
  { store, fence, picture, logger }: MasterTerm,
  controlRevision: Revision,
  group: readonly Change[],
  records: readonly PartitionRecord[],
): Promise<boolean> {
  const keyOf = ({ namespace, partition }: PartitionRecord) => keys.partition(namespace, partition);
  const unchanged = group.map(({ partition: { record, modRevision } }) => ({
    key: keyOf(record),
    modRevision,
  }));
  const untold = untoldYet(picture, group);
  if (untold === undefined) return false;
  const { succeeded, revision } = await store.transaction(
    [fence, ...unchanged, ...untold, ...switchesFor(controlRevision, group)],
    records.map((record) => ({ type: 'put', key: keyOf(record), value: encodeRecord(record) })),
  );
  if (!succeeded) return false;
  for (const record of records) picture.expect(keyOf(record), revision);
  for (const [at, { move, partition }] of group.entries()) {
    const { namespace, partition: number, replicas, epoch } = records[at]!;
    const place = { namespace, partition: number, epoch };
    if (move !== undefined) {
      const [from, to] = [move.from?.node ?? null, move.to?.node ?? null];
      if (move.givesUp) logger.warn('a move is given up', { ...place, from, to, why: move.why });
      else logger.info('replica to be moved', { ...place, from, to, why: move.why });
    }
    const [before, after] = [partition.record.replicas[0]?.node, replicas[0]?.node];
    if (before !== after)
      logger.debug('leader to be changed', { ...place, from: before!, to: after! });
  }
  return true;
}
