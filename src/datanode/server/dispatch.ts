/** Decides where a request goes: an answer at once, the node itself, one partition, or several. */
import { SLOT_COUNT } from '../../common/hash.ts';
import type { Namespace, PartitionId } from '../../common/ids.ts';
import type { PartitionRecord } from '../../meta/schema.ts';
import {
  type Command,
  keysOf,
  type NodeCommand,
  type ReadCommand,
  type ReadRun,
  type WriteCommand,
  type WriteRun,
} from '../commands/rows/command.ts';
import type { Door } from '../commands/rows/node-context.ts';
import {
  cursorOf,
  parseCursor,
  partitionOfCursor,
  positionOf,
} from '../commands/scanning/scan-cursor.ts';
import { keepsScripts } from '../commands/table/runs-anything.ts';
import { resolveCommand } from '../commands/table/table.ts';
import type { CommandLine, PreparedRead } from '../partition/entries/batch.ts';
import { array, bulk, EMPTY_ARRAY, error, type Reply } from '../resp/reply.ts';
import type { RouteTable } from '../routing/table.ts';
import { type Part, splitByKeys, splitPairs } from './fan-out.ts';
import { noNamespace } from './gone.ts';
import { badShape, unknownCommand } from './request-shape.ts';
import { splitHalves } from './rows-by-key.ts';

export type DataCommand = ReadCommand | WriteCommand;

export type Target =
  | {
      readonly kind: 'reply';
      readonly reply: Reply;
      /** Undefined when there is no such command. */
      readonly command: Command | undefined;
      /** The command itself gave the answer; otherwise it was turned away before. */
      readonly called: boolean;
    }
  | { readonly kind: 'node'; readonly command: NodeCommand }
  | {
      readonly kind: 'one';
      readonly command: DataCommand;
      readonly partition: PartitionId;
      readonly prepared: PreparedRead | undefined;
    }
  | { readonly kind: 'many'; readonly command: DataCommand; readonly parts: readonly Part[] }
  | GatherTarget;

/** A read over several partitions that runs here, on what they have. */
export interface GatherTarget {
  readonly kind: 'gather';
  readonly command: ReadCommand;
  readonly run: ReadRun;
  readonly keys: ReadonlyMap<PartitionId, readonly Buffer[]>;
}

export interface DispatchWorld {
  readonly routes: RouteTable;
  readonly door: Door;
  namespace(): Namespace;
  valueBytesMax(): number;
  /** But for the gateway: this node answers for the partition, as leader or as follower. */
  answersHere(partition: PartitionId): boolean;
  /** Why this client may not run the command now, whatever its arguments are worth. */
  refused(command: Command, args: CommandLine): Reply | undefined;
}

export function dispatch(args: CommandLine, world: DispatchWorld): Target {
  const command = resolveCommand(args);
  const wrong =
    command === undefined ? unknownCommand(args) : badShape(command, args, world.valueBytesMax());
  if (wrong !== undefined) return refusal(command, wrong);
  const refused = world.refused(command!, args);
  if (refused !== undefined) return refusal(command, refused);
  if (command!.kind === 'node') return { kind: 'node', command: command! };
  const prepared = command!.prepare(args);
  if (!prepared.ok) return answer(command!, prepared.reply);
  const namespace = world.namespace();
  if (!world.routes.hasNamespace(namespace)) {
    return refusal(command, error(noNamespace(namespace)));
  }
  if (command!.keys.first === 0 && command!.keysOf === undefined) {
    return keyless(command!, args, world);
  }
  return keyed(command!, args, world, preparedRead(command!, prepared.run));
}

function preparedRead(command: DataCommand, run: ReadRun | WriteRun): PreparedRead | undefined {
  if (command.kind !== 'read') return undefined;
  return { run: run as ReadRun, singlePoint: command.singlePoint === true };
}

function refusal(command: Command | undefined, reply: Reply): Target {
  return { kind: 'reply', reply, command, called: false };
}

function answer(command: Command, reply: Reply): Target {
  return { kind: 'reply', reply, command, called: true };
}

function keyed(
  command: DataCommand,
  args: CommandLine,
  world: DispatchWorld,
  prepared: PreparedRead | undefined,
): Target {
  const { first, last } = command.keys;
  const isOneKey = command.keysOf === undefined && first === last;
  const keys = isOneKey ? undefined : keysOf(command, args);
  const leading = keys?.[0] ?? (keys && command.placedBy?.(args)) ?? args[first]!;
  const partition = partitionOfKey(world, leading);
  if (keys === undefined || keys.every((key) => partitionOfKey(world, key) === partition)) {
    return { kind: 'one', command, partition, prepared };
  }
  const apart = world.routes.hasSlots(world.namespace()) ? crossSlot : crossPartition;
  if (doorOf(world) !== 'gateway') return refusal(command, apart);
  if (command.kind === 'read' && command.gathers !== undefined) {
    const dealt = keysByPartition(keys, world);
    return { kind: 'gather', command, run: prepared!.run, keys: dealt };
  }
  const parts = partsOf(command, args, world);
  return parts === undefined ? refusal(command, apart) : { kind: 'many', command, parts };
}

/** Undefined where it is not dealt out. */
function partsOf(
  { fanOut, keys }: DataCommand,
  args: CommandLine,
  world: DispatchWorld,
): readonly Part[] | undefined {
  if (fanOut?.over !== 'keys') return undefined;
  const partitionOf = (key: Buffer) => partitionOfKey(world, key);
  if (fanOut.halves !== undefined) {
    const halves = fanOut.halves(args);
    return halves && splitHalves(args, halves, partitionOf);
  }
  if (fanOut.pairs === undefined) return splitByKeys(args, keys, partitionOf);
  const pairs = fanOut.pairs(args);
  return pairs && splitPairs(args, pairs, partitionOf);
}

/** Each key once, at the partition that has it. */
function keysByPartition(keys: readonly Buffer[], world: DispatchWorld): GatherTarget['keys'] {
  const seen = new Set<string>();
  const dealt = new Map<PartitionId, Buffer[]>();
  for (const key of keys) {
    const name = key.toString('latin1');
    if (seen.has(name)) continue;
    seen.add(name);
    const partition = partitionOfKey(world, key);
    const mine = dealt.get(partition);
    if (mine === undefined) dealt.set(partition, [key]);
    else mine.push(key);
  }
  return dealt;
}

function keyless(command: DataCommand, args: CommandLine, world: DispatchWorld): Target {
  const all = world.routes.partitions(world.namespace()) ?? [];
  const mine = all.filter(
    ({ partition }) => doorOf(world) === 'gateway' || world.answersHere(partition),
  );
  const isRefused = doorOf(world) === 'follower' && command.kind === 'write';
  if (isRefused && !keepsScripts(command)) return refusal(command, readOnly);
  if (command.fanOut?.merge === 'scan') return scan(command, args, mine, world);
  const asked = command.fanOut?.merge === 'one' ? [mine[0] ?? all[0]!] : mine;
  const parts = asked.map(({ partition }) => ({ partition, line: args, keyAt: [] }));
  return { kind: 'many', command, parts };
}

/** Nobody can be sent to another node by slots where keys have none: there it forwards as well. */
function doorOf({ routes, door, namespace }: DispatchWorld): Door {
  return routes.hasSlots(namespace()) ? door : 'gateway';
}

/** SCAN visits the partitions one after the other; the cursor says which. */
function scan(
  command: DataCommand,
  args: CommandLine,
  mine: readonly PartitionRecord[],
  world: DispatchWorld,
): Target {
  const cursor = parseCursor(args[1]!)!;
  const next = mine.find((record) => !isBehind(cursor, record));
  if (next === undefined) return answer(command, array([bulk('0'), EMPTY_ARRAY]));
  if (doorOf(world) === 'gateway') {
    return { kind: 'one', command, partition: next.partition, prepared: undefined };
  }
  const start = cursorOf(positionOf(cursor, next), next);
  const line = [args[0]!, Buffer.from(start), ...args.slice(2)];
  return { kind: 'many', command, parts: [{ partition: next.partition, line, keyAt: [] }] };
}

/** The cursor has passed all keys of the partition. */
function isBehind(cursor: number, { partition, lastSlot, murmur3 }: PartitionRecord): boolean {
  if (murmur3 !== undefined) return partitionOfCursor(cursor, murmur3.modulo) > partition;
  return positionOf(cursor, { firstSlot: 0, lastSlot: SLOT_COUNT - 1 }).slot > lastSlot;
}

function partitionOfKey({ routes, namespace }: DispatchWorld, key: Buffer): PartitionId {
  return routes.partitionOfKey(namespace(), key)!;
}

/**
 * A line of an HTTP request that a web page made a browser send here. As in Redis it is the last of
 * its connection, lest commands in its body run.
 */
export function isHttp([name]: CommandLine): boolean {
  return /^(?:post|host:)$/i.test(name!.toString('latin1', 0, HTTP_BYTES));
}

const HTTP_BYTES = 6;

const readOnly = error(
  "READONLY You can't write against a read only replica: this is the follower-read port",
);

export const crossSlot = error(
  "CROSSSLOT Keys in request don't hash to the same slot: they belong to several partitions; " +
    'give them a common hash tag, as in {user1}:name {user1}:mail',
);

const crossPartition = error(
  'CROSSSLOT Keys in request belong to several partitions, and this namespace deals keys out by ' +
    'murmur3 of the whole key: hash tags do not bring them together',
);
