/** Every command of the product by name; checked and frozen when the module is loaded. */
import { assert } from '../../common/assert.ts';
import { aclCommands } from './acl.ts';
import { bitCommands } from './bit.ts';
import { bitFieldCommands } from './bitfield.ts';
import { blockingListCommands } from './blocking-list.ts';
import { blockingZsetCommands } from './blocking-zset.ts';
import { clientCommands } from './client.ts';
import { clusterCommands } from './cluster.ts';
import type { Command, NodeCommand, ReadCommand, WriteCommand } from './command.ts';
import { commandCommands } from './command-docs.ts';
import { configCommands, moduleCommands } from './config.ts';
import { connectionCommands } from './connection.ts';
import { debugCommands } from './debug.ts';
import { dumpCommands } from './dump.ts';
import { expiryCommands } from './expiry.ts';
import { geoCommands } from './geo.ts';
import { geoSearchCommands } from './geo-search.ts';
import { hashCommands } from './hash.ts';
import { hashExpiryCommands } from './hash-expiry.ts';
import { hashNumberCommands } from './hash-number.ts';
import { hashWalkCommands } from './hash-walk.ts';
import { hyperLogLogCommands } from './hyperloglog.ts';
import { infoCommands } from './info.ts';
import { keyCommands } from './key.ts';
import { latencyCommands } from './latency.ts';
import { listCommands } from './list.ts';
import { listMultiPopCommands } from './list-multi-pop.ts';
import { listRangeCommands } from './list-range.ts';
import { listSearchCommands } from './list-search.ts';
import { monitorCommands } from './monitor.ts';
import { NAME_BYTES_MAX, NameTable } from './name-table.ts';
import { namespaceMoveCommands } from './namespace-moves.ts';
import { objectCommands } from './object.ts';
import { onceCommands } from './once.ts';
import { pubsubCommands } from './pubsub.ts';
import { scanCommands } from './scan.ts';
import { serverInfoCommands } from './server-info.ts';
import { setCommands } from './set.ts';
import { setAlgebraCommands } from './set-algebra.ts';
import { slowLogCommands } from './slow-log.ts';
import { sortCommands } from './sort.ts';
import { stringCommands } from './string.ts';
import { stringCommonCommands } from './string-common.ts';
import { stringNumberCommands } from './string-number.ts';
import { stringRangeCommands } from './string-range.ts';
import { transactionCommands } from './transaction.ts';
import { waitCommands } from './wait.ts';
import { zanElementCommands } from './zan-elements.ts';
import { zanKeyCommands } from './zan-keys.ts';
import { zanScanCommands } from './zan-scan.ts';
import { zanStringCommands } from './zan-strings.ts';
import { zsetCommands } from './zset.ts';
import { zsetCombineCommands } from './zset-combine.ts';
import { zsetPopCommands } from './zset-pop.ts';
import { zsetRandomCommands } from './zset-random.ts';
import { zsetRangeCommands } from './zset-range.ts';

const rows: readonly Command[] = [
  ...stringCommands,
  ...stringNumberCommands,
  ...stringRangeCommands,
  ...stringCommonCommands,
  ...listCommands,
  ...listMultiPopCommands,
  ...listRangeCommands,
  ...listSearchCommands,
  ...blockingListCommands,
  ...hashCommands,
  ...hashExpiryCommands,
  ...hashNumberCommands,
  ...hashWalkCommands,
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
  Omit<NodeCommand, 'kind'> & Omit<ReadCommand, 'kind' | 'prepare'> & Omit<WriteCommand, 'kind'>
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
    carries: columns.carries,
    run: columns.run,
    prepare: columns.prepare,
    singlePoint: columns.singlePoint,
    gathers: columns.gathers,
    empties: columns.empties,
    blocking: columns.blocking,
  }) as Command;
}
