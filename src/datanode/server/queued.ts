/** What MULTI keeps of each command until EXEC. */
import type { PartitionId } from '../../common/ids.ts';
import { carriedOut, type NodeCommand } from '../commands/rows/command.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';
import { crossSlot, type Target } from './dispatch.ts';

export interface QueuedOfNode {
  readonly name: string;
  readonly kind: 'node';
  readonly command: NodeCommand;
  readonly args: CommandLine;
}

export type Queued =
  | { readonly name: string; readonly kind: 'data'; readonly line: CommandLine }
  | QueuedOfNode
  /** Its arguments are wrong: that is what it answers. */
  | { readonly name: string; readonly kind: 'known'; readonly reply: Reply };

/** SORT reads keys that nobody names; that it may not is said at EXEC, as Redis does. */
export function isJudgedLate({ command }: Target, args: CommandLine): boolean {
  const name = command && carriedOut(command, args).command.name;
  return name === 'sort' || name === 'sort_ro';
}

/** What tells of clients, or changes who they are: a KILL behind it does not run before it. */
const OF_CLIENTS = /^(?:acl|auth|client|hello|info|pubsub)\b/;

/**
 * The CLIENT KILLs of a transaction that run ahead of what it stores, behind it or not: who is
 * killed is given nothing of it, as in Redis, which serves those who wait after EXEC.
 */
export function killsOf(queue: readonly Queued[]): readonly QueuedOfNode[] {
  const kills: QueuedOfNode[] = [];
  for (const item of queue) {
    if (item.kind !== 'node') continue;
    if (item.command.name === 'client|kill') kills.push(item);
    else if (OF_CLIENTS.test(item.command.name)) break;
  }
  return kills;
}

export function dataOf(queue: readonly Queued[]): readonly CommandLine[] {
  return queue.flatMap((item) => (item.kind === 'data' ? [item.line] : []));
}

/** Those that run, as their client sent them. */
export function linesOf(queue: readonly Queued[]): readonly CommandLine[] {
  return queue.flatMap((item) =>
    item.kind === 'data' ? [item.line] : item.kind === 'node' ? [item.args] : [],
  );
}

/** Undefined for what would have to run in several partitions. */
export function queuedOf(target: Target, args: CommandLine): Queued | undefined {
  const name = target.command?.name ?? '';
  switch (target.kind) {
    case 'reply':
      return { kind: 'known', name, reply: target.reply };
    case 'node':
      return { kind: 'node', name, command: target.command, args };
    case 'one':
      return { kind: 'data', name, line: args };
    case 'gather':
      return undefined;
    default:
      if (target.parts.length !== 1) return undefined;
      return { kind: 'data', name, line: target.parts[0]!.line };
  }
}

/** Of what would have to be queued in several partitions. */
export function apartOf({ command }: Target): Reply {
  const hasKeys = command?.kind !== 'node' && (command?.keysOf || command?.keys.first !== 0);
  return hasKeys ? crossSlot : ofAllPartitions;
}

const ofAllPartitions = error(
  'CROSSSLOT the command is about all partitions of the namespace, and a transaction about one: send ' +
    'it outside of MULTI',
);

export function partitionOf(target: Target): PartitionId | undefined {
  if (target.kind === 'one') return target.partition;
  return target.kind === 'many' ? target.parts[0]?.partition : undefined;
}
