/** Every command of the product by name; checked and frozen when the module is loaded. */
import { assert } from '../../../common/assert.ts';
import { blockingListCommands } from '../blocking/blocking-list.ts';
import { blockingZsetCommands } from '../blocking/blocking-zset.ts';
import { clusterCommands } from '../cluster/cluster.ts';
import { waitCommands } from '../cluster/wait.ts';
import { clientCommands } from '../connection/client.ts';
import { connectionCommands } from '../connection/connection.ts';
import { commandCommands } from '../docs/command-docs.ts';
import { functionCommands } from '../functions/functions.ts';
import { geoCommands } from '../geo/geo.ts';
import { geoSearchCommands } from '../geo/geo-search.ts';
import { hashCommands } from '../hashes/hash.ts';
import { hashExpiryCommands } from '../hashes/hash-expiry.ts';
import { hashNumberCommands } from '../hashes/hash-number.ts';
import { hashValueCommands } from '../hashes/hash-values.ts';
import { hashWalkCommands } from '../hashes/hash-walk.ts';
import { jsonCommands } from '../json/json.ts';
import { dumpCommands } from '../keys/dump.ts';
import { expiryCommands } from '../keys/expiry.ts';
import { keyCommands } from '../keys/key.ts';
import { namespaceMoveCommands } from '../keys/namespace-moves.ts';
import { objectCommands } from '../keys/object.ts';
import { sortCommands } from '../keys/sort.ts';
import { listCommands } from '../lists/list.ts';
import { listMultiPopCommands } from '../lists/list-multi-pop.ts';
import { listRangeCommands } from '../lists/list-range.ts';
import { listSearchCommands } from '../lists/list-search.ts';
import { pubsubCommands } from '../pubsub/pubsub.ts';
import type { Command, NodeCommand, ReadCommand, WriteCommand } from '../rows/command.ts';
import { scanCommands } from '../scanning/scan.ts';
import { scriptCommands } from '../scripts/scripts.ts';
import { backupCommands } from '../server/backup.ts';
import { configCommands, moduleCommands } from '../server/config.ts';
import { debugCommands } from '../server/debug.ts';
import { infoCommands } from '../server/info.ts';
import { latencyCommands } from '../server/latency.ts';
import { monitorCommands } from '../server/monitor.ts';
import { replicationCommands } from '../server/replication.ts';
import { serverInfoCommands } from '../server/server-info.ts';
import { slowLogCommands } from '../server/slow-log.ts';
import { onceCommands } from '../sessions/once.ts';
import { setCommands } from '../sets/set.ts';
import { setAlgebraCommands } from '../sets/set-algebra.ts';
import { hyperLogLogCommands } from '../sketches/hyperloglog.ts';
import { streamAddCommands } from '../streams/stream-add.ts';
import { streamClaimCommands } from '../streams/stream-claim.ts';
import { streamDeleteCommands } from '../streams/stream-delete.ts';
import { streamGroupCommands } from '../streams/stream-groups.ts';
import { streamInfoCommands } from '../streams/stream-info.ts';
import { streamPendingCommands } from '../streams/stream-pending.ts';
import { streamRangeCommands } from '../streams/stream-range.ts';
import { streamReadGroupCommands } from '../streams/stream-read-group.ts';
import { bitCommands } from '../strings/bit.ts';
import { bitFieldCommands } from '../strings/bitfield.ts';
import { compareCommands } from '../strings/compare.ts';
import { mSetCommands } from '../strings/mset.ts';
import { stringCommands } from '../strings/string.ts';
import { stringCommonCommands } from '../strings/string-common.ts';
import { stringNumberCommands } from '../strings/string-number.ts';
import { stringRangeCommands } from '../strings/string-range.ts';
import { transactionCommands } from '../transactions/transaction.ts';
import { aclCommands } from '../users/acl.ts';
import { zanElementCommands } from '../zan/zan-elements.ts';
import { zanKeyCommands } from '../zan/zan-keys.ts';
import { zanScanCommands } from '../zan/zan-scan.ts';
import { zanStringCommands } from '../zan/zan-strings.ts';
import { zsetCommands } from '../zsets/zset.ts';
import { zsetCombineCommands } from '../zsets/zset-combine.ts';
import { zsetPopCommands } from '../zsets/zset-pop.ts';
import { zsetRandomCommands } from '../zsets/zset-random.ts';
import { zsetRangeCommands } from '../zsets/zset-range.ts';
import { NAME_BYTES_MAX, NameTable } from './name-table.ts';

const rows: readonly Command[] = [
  ...stringCommands,
  ...mSetCommands,
  ...stringNumberCommands,
  ...stringRangeCommands,
  ...stringCommonCommands,
  ...compareCommands,
  ...listCommands,
  ...listMultiPopCommands,
  ...listRangeCommands,
  ...listSearchCommands,
  ...blockingListCommands,
  ...hashCommands,
  ...hashExpiryCommands,
  ...hashNumberCommands,
  ...hashWalkCommands,
  ...hashValueCommands,
  ...setCommands,
  ...setAlgebraCommands,
  ...zsetCommands,
  ...zsetRangeCommands,
  ...zsetPopCommands,
  ...blockingZsetCommands,
  ...zsetRandomCommands,
  ...zsetCombineCommands,
  ...geoCommands,
  ...geoSearchCommands,
  ...jsonCommands,
  ...streamAddCommands,
  ...streamDeleteCommands,
  ...streamRangeCommands,
  ...streamGroupCommands,
  ...streamReadGroupCommands,
  ...streamPendingCommands,
  ...streamClaimCommands,
  ...streamInfoCommands,
  ...bitCommands,
  ...bitFieldCommands,
  ...hyperLogLogCommands,
  ...keyCommands,
  ...sortCommands,
  ...expiryCommands,
  ...dumpCommands,
  ...objectCommands,
  ...scanCommands,
  ...transactionCommands((line) => resolveCommand(line)),
  ...scriptCommands((line) => resolveCommand(line)),
  ...functionCommands((line) => resolveCommand(line)),
  ...onceCommands((line) => resolveCommand(line)),
  ...connectionCommands,
  ...clientCommands,
  ...clusterCommands,
  ...pubsubCommands,
  ...commandCommands(() => commandTable),
  ...configCommands,
  ...moduleCommands,
  ...infoCommands,
  ...serverInfoCommands,
  ...debugCommands,
  ...latencyCommands,
  ...slowLogCommands,
  ...monitorCommands,
  ...backupCommands,
  ...replicationCommands,
  ...namespaceMoveCommands,
  ...waitCommands,
  ...zanStringCommands,
  ...zanKeyCommands,
  ...zanElementCommands,
  ...zanScanCommands,
  ...aclCommands(() => commandTable),
];

export const commandTable: ReadonlyMap<string, Command> = byName(rows);
const spelled = new NameTable(commandTable);

/** The row of a command as a client spells it, in any case. */
export function findCommand(name: Buffer): Command | undefined {
  return spelled.find(name);
}

/** The row that `args` mean: of the subcommand where the command has it, of the command otherwise. */
export function resolveCommand(args: readonly Buffer[]): Command | undefined {
  const name = args[0];
  const command = name && findCommand(name);
  const subcommand = args[1];
  if (!command?.subcommands || !subcommand || subcommand.length > NAME_BYTES_MAX) return command;
  const full = `${command.name}|${subcommand.toString('latin1').toLowerCase()}`;
  return command.subcommands.find((row) => row.name === full) ?? command;
}

function byName(commands: readonly Command[]): ReadonlyMap<string, Command> {
  const table = new Map<string, Command>();
  for (const command of commands) {
    assert(!table.has(command.name), () => `the command table has one row for ${command.name}`);
    assert(command.name === command.name.toLowerCase(), () => `${command.name} is in lower case`);
    assert(
      command.name.length <= NAME_BYTES_MAX,
      () => `${command.name} is short enough to be found`,
    );
    assert(command.arity !== 0, () => `${command.name} counts its own name`);
    for (const row of command.subcommands ?? []) {
      assert(row.name.startsWith(`${command.name}|`), `${row.name} belongs to ${command.name}`);
    }
    const subcommands = command.subcommands?.map((row) => alike(row, undefined));
    table.set(command.name, alike(command, subcommands));
  }
  return table;
}

type AnyColumn = Partial<
  Omit<NodeCommand, 'kind'> &
    Omit<ReadCommand, 'kind' | 'prepare' | 'blocking'> &
    Omit<WriteCommand, 'kind' | 'blocking'> &
    (Pick<ReadCommand, 'blocking'> | Pick<WriteCommand, 'blocking'>)
>;

/**
 * The row with every column that any row has, in one order: all rows then share one shape in the
 * machine, and whatever looks at commands by the hundred thousand finds its columns at once.
 */
function alike(row: Command, subcommands: readonly Command[] | undefined): Command {
  const columns: AnyColumn = row;
  return Object.freeze({
    name: row.name,
    kind: row.kind,
    arity: row.arity,
    flags: row.flags,
    keys: row.keys,
    categories: row.categories,
    group: row.group,
    since: row.since,
    summary: row.summary,
    subcommands,
    fanOut: columns.fanOut,
    keysOf: columns.keysOf,
    readsAnyKey: columns.readsAnyKey,
    runsAnything: columns.runsAnything,
    placedBy: columns.placedBy,
    carries: columns.carries,
    appliesFrom: columns.appliesFrom,
    refusedBefore: columns.refusedBefore,
    refusedAs: columns.refusedAs,
    hasChanged: columns.hasChanged,
    run: columns.run,
    prepare: columns.prepare,
    singlePoint: columns.singlePoint,
    gathers: columns.gathers,
    empties: columns.empties,
    blocking: columns.blocking,
  }) as Command;
}
