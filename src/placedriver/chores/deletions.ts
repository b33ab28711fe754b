/**
 * Takes what is left of deleted namespaces, and of those that were never finished, out of the
 * metadata store: partitions, leaders and damage first, the namespace's record last, so that a
 * master that dies in the middle leaves it to the next, and the name is free only when all is gone.
 */
import type { Namespace } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { type DeletedRecord, keys } from '../../meta/schema.ts';
import type { Compare, MetaItem, MetaOperation } from '../../meta/store.ts';
import { adjoining, deletionsOf, mergeOf, partitionsIn, readableIn } from '../deleted-groups.ts';
import { fencedChange, writeGuarded } from '../fenced.ts';
import { isBeingMade } from '../namespaces.ts';
import type { MasterTerm } from '../term.ts';

/** From one look at a namespace that is being made to the next. */
const LOOK_AGAIN_MS = 1_000;
/** Beside the fence. */
const MERGED_MAX = limits.metaTxnOperationsMax - 1;

export async function carryOutDeletions(term: MasterTerm): Promise<number | undefined> {
  const { picture, leadership } = term;
  let again: number | undefined;
  for (const { name, ready } of picture.namespaces()) {
    if (leadership.lost.aborted) return undefined;
    if (ready) continue;
    if (isBeingMade(term, name)) again = LOOK_AGAIN_MS;
    else await removeRecords(term, name);
  }
  await sweep(term);
  await mergeDeletions(term);
  return again;
}

/**
 * No record of deleted groups ever goes, since a replica of one may turn up at any time (decision 18);
 * but groups are numbered one after the other, so there need not be more records than groups that live,
 * however many namespaces come and go. Few stay as they are, each of its namespace.
 */
async function mergeDeletions({ store, fence, picture, leadership }: MasterTerm): Promise<void> {
  const seen = picture.deletions();
  if (seen.length <= limits.deletionsApartMax || adjoining(seen, MERGED_MAX).length === 0) return;
  const { items } = await store.range(keys.deleted);
  // a record that cannot be read stays as it is
  const revisions = new Map(items.map(({ key, modRevision }) => [key, modRevision]));
  for (const run of adjoining(readableIn(recordKinds.deleted, items), MERGED_MAX)) {
    if (leadership.lost.aborted) return;
    const unchanged = run.map(({ firstGroup }) => {
      const key = keys.deletion(firstGroup);
      return { key, modRevision: revisions.get(key)! };
    });
    await fencedChange(store, fence, unchanged, mergeOf(run));
  }
}

/** Does nothing when the record changed meanwhile: what is seen next decides anew. */
async function removeRecords(term: MasterTerm, name: Namespace): Promise<void> {
  const { store, fence, picture, clock, logger } = term;
  const key = keys.namespace(name);
  const found = await store.get(key);
  if (found === undefined) return;
  const { ready, deleting } = decodeRecord(recordKinds.namespace, key, found.value);
  if (ready || isBeingMade(term, name)) return;
  const guard: readonly Compare[] = [fence, { key, modRevision: found.modRevision }];
  const [partitions, leaders, deletions] = await Promise.all([
    store.range(keys.partitionsOf(name)),
    store.range(keys.leadersOf(name)),
    store.range(keys.deleted),
  ]);
  // of one that was never ready no datanode has made a replica: but of what was there before its claim,
  // left by one whose record is lost
  const dead = deleting
    ? partitionsIn(partitions.items)
    : readableIn(
        recordKinds.partition,
        partitions.items.filter(({ modRevision }) => modRevision < found.createRevision),
      );
  const told = deletionsOf(name, dead, clock.wallMs(), knownIn(deletions.items));
  const damages = picture.damages().filter(({ namespace }) => namespace === name);
  const gone = [
    ...partitions.items.map((item) => item.key),
    ...leaders.items.map((item) => item.key),
    ...damages.map(({ replica }) => keys.damage(replica)),
  ];
  const done =
    (await writeGuarded(store, guard, told)) &&
    (await writeGuarded(store, guard, gone.map(remove))) &&
    (await writeGuarded(store, guard, [remove(key)]));
  if (!done) return;
  const fields = { namespace: name, partitions: partitions.items.length };
  if (deleting) logger.info('nothing is left of a deleted namespace', fields);
  else logger.warn('a namespace that was never finished is removed', fields);
}

function knownIn(deletions: readonly MetaItem[]): DeletedRecord[] {
  return deletions.map(({ key, value }) => decodeRecord(recordKinds.deleted, key, value));
}

/**
 * Leaders and damage told late, of namespaces that are not there. Partitions without a namespace
 * stay: nobody but an operator can have lost its record, and may bring it back.
 */
async function sweep({ store, fence, picture, leadership }: MasterTerm): Promise<void> {
  const there = new Set([
    ...picture.namespaces().map(({ name }) => name),
    ...picture.shownPartitions().map(({ namespace }) => namespace),
  ]);
  const strays = new Map<Namespace, MetaOperation[]>();
  const note = (namespace: Namespace, key: string) => {
    if (there.has(namespace)) return;
    strays.set(namespace, [...(strays.get(namespace) ?? []), remove(key)]);
  };
  for (const { record } of picture.leaders()) {
    note(record.namespace, keys.leader(record.namespace, record.partition));
  }
  for (const { namespace, replica } of picture.damages()) note(namespace, keys.damage(replica));
  for (const [namespace, operations] of strays) {
    if (leadership.lost.aborted) return;
    const absent: Compare = { key: keys.namespace(namespace), modRevision: 0 };
    await writeGuarded(store, [fence, absent], operations);
  }
}

function remove(key: string): MetaOperation {
  return { type: 'delete', key };
}
