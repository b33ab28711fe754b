/**
 * What tells datanodes that groups are gone for ever: a record for each run of consecutive groups,
 * which are one run in a namespace that was made at once. Groups that were given up before go with
 * those that came from them.
 */
import { codeOf } from '../common/errors.ts';
import type { GroupId, Namespace } from '../common/ids.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../meta/records.ts';
import {
  type DeletedRecord,
  encodeRecord,
  keys,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { MetaItem, MetaOperation } from '../meta/store.ts';

/** Those that can be read; of the others nothing is known. */
export function readableIn<T>(kind: RecordKind<T>, items: readonly MetaItem[]): T[] {
  return items.flatMap(({ key, value }) => {
    try {
      return [decodeRecord(kind, key, value)];
    } catch (failure) {
      if (codeOf(failure) !== 'BAD_RECORD') throw failure;
      return [];
    }
  });
}

/** Throws BAD_RECORD: a group that cannot be read could not be told. */
export function partitionsIn(items: readonly MetaItem[]): PartitionRecord[] {
  return items.map(({ key, value }) => decodeRecord(recordKinds.partition, key, value));
}

/** `known`: what is told already. */
export function deletionsOf(
  namespace: Namespace,
  partitions: readonly PartitionRecord[],
  deletedMs: number,
  known: readonly DeletedRecord[] = [],
): MetaOperation[] {
  const isKnown = (group: GroupId) =>
    known.some(({ firstGroup, groups }) => firstGroup <= group && group < firstGroup + groups);
  const all = partitions.flatMap(({ group, rebuilt }) => [group, ...(rebuilt?.formerGroups ?? [])]);
  const left = all.filter((group) => !isKnown(group));
  return runsOf(left).map(({ firstGroup, groups }) => {
    const record: DeletedRecord = {
      ...{ version: SCHEMA_VERSION, namespace, firstGroup, groups, deletedMs },
    };
    return { type: 'put', key: keys.deletion(firstGroup), value: encodeRecord(record) };
  });
}

function runsOf(groups: readonly GroupId[]): { firstGroup: GroupId; groups: number }[] {
  const runs: { firstGroup: GroupId; groups: number }[] = [];
  for (const group of [...groups].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last.firstGroup + last.groups === group) last.groups++;
    else runs.push({ firstGroup: group, groups: 1 });
  }
  return runs;
}

/**
 * Records whose groups follow one another, in order, at most `most` together; only those that are two
 * or more.
 */
export function adjoining(records: readonly DeletedRecord[], most: number): DeletedRecord[][] {
  const runs: DeletedRecord[][] = [];
  let next: GroupId | undefined;
  for (const record of [...records].sort((a, b) => a.firstGroup - b.firstGroup)) {
    const run = runs.at(-1);
    if (run === undefined || record.firstGroup !== next || run.length === most) runs.push([record]);
    else run.push(record);
    next = record.firstGroup + record.groups;
  }
  return runs.filter((run) => run.length > 1);
}

/** One record that tells of all groups of `run` in the place of its records. */
export function mergeOf(run: readonly DeletedRecord[]): MetaOperation[] {
  const [first, ...others] = run;
  const groups = run.reduce((sum, record) => sum + record.groups, 0);
  const merged: DeletedRecord = { ...run.at(-1)!, firstGroup: first!.firstGroup, groups };
  return [
    { type: 'put', key: keys.deletion(merged.firstGroup), value: encodeRecord(merged) },
    ...others.map(
      ({ firstGroup }) => ({ type: 'delete', key: keys.deletion(firstGroup) }) as const,
    ),
  ];
}
