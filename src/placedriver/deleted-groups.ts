/**
 * What tells datanodes that groups are gone for ever: a record for each run of consecutive groups,
 * which are one run in a namespace that was made at once. Groups that were given up before go with
 * those that came from them.
 */
import type { GroupId, Namespace } from '../common/ids.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import {
  type DeletedRecord,
  encodeRecord,
  keys,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { MetaItem, MetaOperation } from '../meta/store.ts';

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
