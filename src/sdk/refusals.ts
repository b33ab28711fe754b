/** What is refused before it is sent: what would change a shared connection, and what is misplaced. */
import type { PartitionId } from '../common/ids.ts';
import type { ParsedCall } from './arguments.ts';
import type { Argument } from './connection.ts';
import { ownError } from './errors.ts';
import { bytesOf, type CommandRow, keyPositions, rowsByName } from './key-places.ts';
import { refuseTooLarge } from './request-size.ts';
import type { PartitionTable } from './table.ts';

/** What a transaction queues. */
export interface QueuedLine {
  /** Lower case. */
  readonly name: string;
  readonly line: readonly Argument[];
}

/** Of a command that is not known: none. */
export function keysOf(
  row: CommandRow | undefined,
  line: readonly Argument[],
): readonly Argument[] {
  return row === undefined ? [] : keyPositions(row, line).map((at) => line[at]!);
}

export function keysOfAll(queued: readonly QueuedLine[]): readonly Argument[] {
  return queued.flatMap(({ name, line }) => keysOf(rowsByName.get(name), line));
}

/** Throws CROSSSLOT. Undefined: no keys, or any node takes them. */
export function onePartition(
  table: PartitionTable,
  keys: readonly Argument[],
  what: string,
): PartitionId | undefined {
  const partitions = new Set(keys.map((key) => table.partitionOf(bytesOf(key))));
  const [partition] = partitions;
  if (partitions.size <= 1) return partition;
  const text = `the keys of ${what} must be of one partition: give them a common {tag}`;
  throw ownError('CROSSSLOT', text);
}

/** Throws for what has no place in the transaction of a watch. */
export function checkWatched(
  table: PartitionTable,
  queued: readonly QueuedLine[],
  partition: PartitionId | undefined,
): void {
  for (const { name, line } of queued) {
    const row = rowsByName.get(name);
    refuseConnectionCommand(name, line, row);
    refuseTooLarge(line);
    const keys = keysOf(row, line);
    if (keys.length === 0) {
      const text = `${name} has no key: the transaction of a watch takes commands with keys`;
      throw ownError('BAD_ARGUMENT', text);
    }
    if (onePartition(table, keys, 'a transaction') === partition) continue;
    const text = `${name} is for another partition than the watched keys: give them a common {tag}`;
    throw ownError('CROSSSLOT', text, { partition });
  }
}

/** Throws BAD_ARGUMENT for what is no read, or has options of its own. */
export function refuseInWatch(
  name: string,
  row: CommandRow | undefined,
  { options }: ParsedCall,
): void {
  if (row?.kind !== 'read') {
    const text = `${name} does not only read: in a watch, queue it in tx.multi()`;
    throw ownError('BAD_ARGUMENT', text);
  }
  if (Object.keys(options).length === 0) return;
  throw ownError('BAD_ARGUMENT', `options of ${name} in a watch: give them to watch()`);
}

/** About all keys of the namespace, or scripts and libraries that all partitions keep; of CLUSTER, about those of a slot. */
export const aboutAllKeys: ReadonlySet<string> = new Set([
  ...['scan', 'keys', 'randomkey', 'dbsize', 'flushall', 'flushdb'],
  ...['cluster countkeysinslot', 'cluster getkeysinslot'],
  ...['script load', 'script exists', 'script flush'],
  ...['function load', 'function delete', 'function flush', 'function restore'],
  ...['function list', 'function dump', 'function stats'],
]);

/**
 * A cluster port answers them for the partitions that its node leads at the moment, and does not say
 * which: answers of several nodes put together may lack one or have it twice. Throws BAD_ARGUMENT.
 */
export function refuseOfOneNode(
  table: PartitionTable,
  name: string,
  line: readonly Argument[],
): void {
  const { groups, partitions } = table.content;
  if (groups || partitions.length === 0) return;
  const hasSubcommands = /^(?:cluster|script|function)$/.test(name);
  const whole = hasSubcommands ? `${name} ${String(line[1]).toLowerCase()}` : name;
  if (!aboutAllKeys.has(whole)) return;
  throw ownError(
    'BAD_ARGUMENT',
    `${whole} is about all nodes, and a cluster port answers for its own node: name the ` +
      'gateway ports of the datanodes, or the placedrivers (kvorum://)',
  );
}

const instead: Readonly<Record<string, string>> = {
  multi: 'multi()',
  exec: 'multi().exec()',
  discard: 'multi()',
  watch: 'client.watch(keys, function)',
  unwatch: 'client.watch(keys, function)',
  subscribe: 'subscriber()',
  psubscribe: 'subscriber()',
  ssubscribe: 'subscriber()',
  unsubscribe: 'subscriber()',
  punsubscribe: 'subscriber()',
  sunsubscribe: 'subscriber()',
  select: 'a client of its own for each namespace',
  auth: 'the options username and password',
  quit: 'close()',
};

/** Connections are shared by all calls: none may change one. Throws BAD_ARGUMENT. */
export function refuseConnectionCommand(
  name: string,
  line: readonly Argument[],
  row: CommandRow | undefined,
): void {
  const reply = name === 'client' && /^(?:reply|tracking)$/i.test(String(line[1]));
  if (row?.kind !== 'connection' && !reply) return;
  const use = instead[name];
  throw ownError(
    'BAD_ARGUMENT',
    `${name} changes the connection it comes over, and calls share theirs` +
      (use === undefined ? '' : `; use ${use}`),
  );
}
