/**
 * One row is the whole truth about a command: routing, proposal, apply, COMMAND, ACL categories
 * and docs derive from it. Rows are made by the builders `node`, `read`, `write` (below), which
 * close over the parsed type.
 */
import type { KeyShare } from '../../../common/hash.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import type { Reply } from '../../resp/reply.ts';
import type { NodeContext } from './node-context.ts';

/** Redis's command flags, as COMMAND prints them. */
export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'denyoom'
  | 'admin'
  | 'pubsub'
  | 'noscript'
  | 'blocking'
  | 'loading'
  | 'stale'
  | 'fast'
  | 'no_auth'
  | 'movablekeys'
  | 'allow_busy'
  | 'no_multi'
  | 'asking'
  | 'skip_slowlog'
  | 'skip_monitor'
  | 'no_mandatory_keys';

/** Positions as in COMMAND: first key, last key (negative: from the end), step. */
export interface KeyPositions {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

export const NO_KEYS: KeyPositions = { first: 0, last: 0, step: 0 };
export const FIRST_KEY: KeyPositions = { first: 1, last: 1, step: 1 };
export const ALL_KEYS: KeyPositions = { first: 1, last: -1, step: 1 };

/**
 * How a command is spread when its keys (or it as a whole) belong to several partitions.
 * `keys`: each partition runs the command on its own keys (with their `step` arguments);
 * `partitions`: every partition of the namespace runs it as it is.
 */
export interface FanOut {
  readonly over: 'keys' | 'partitions';
  /**
   * sum: add integers · keyOrder: one array item per key, in the request's order ·
   * rows: a map of those keys that have something, or null ·
   * concat: join arrays · ok: OK when all say OK · any: the first that is not null ·
   * every: one array, an item of it holds where it holds in all · scan: SCAN's own cursor walk ·
   * settled: where some have done it and the others had before, it is done (`settled.ts`) ·
   * one: only one of them is asked.
   */
  readonly merge:
    | 'sum'
    | 'keyOrder'
    | 'rows'
    | 'concat'
    | 'ok'
    | 'any'
    | 'every'
    | 'scan'
    | 'settled'
    | 'one';
  /** Of keys that all stand before what goes with them; undefined: the line is not dealt out. */
  readonly halves?: (args: readonly Buffer[]) => Halves | undefined;
  /** Of keys whose number stands before them; undefined: the line is not dealt out. */
  readonly pairs?: (args: readonly Buffer[]) => CountedPairs | undefined;
}

/** So many keys from there on, and behind them as many arguments, one for each. */
export interface Halves {
  readonly at: number;
  readonly count: number;
}

/** So many keys from there on, each with its value behind it; their number stands before them. */
export interface CountedPairs {
  readonly at: number;
  readonly count: number;
}

/** Types whose values a command takes when they are gathered from several partitions. */
export type GatheredType = 'string' | 'set' | 'zset';

/** What a run may know beside the data: from the entry (write) or the leader (read), never the host. */
export interface RunContext extends KeyShare {
  /** The entry's time, or the leader's group time for reads: milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * Of the RDB format, as far as DUMP and RESTORE know it; by default all that this build does. In a
   * write what all builds know that apply its entry.
   */
  readonly rdbVersion?: number;
  /** Of the entry, in a write; by default the newest. */
  readonly applyVersion?: number;
  /** Uniform in [0, 1); drawn from the entry's seed in a write. */
  random(): number;
  /** What a script does beside its replies; absent where nobody asks. */
  readonly effects?: RunEffects;
}

export interface RunEffects {
  /** A write that a script has run: clients may wait for what it adds to its keys. */
  ran(line: readonly Buffer[]): void;
  /** Told once the script's changes are in the engine, by whoever leads then. */
  publish(channel: Buffer, message: Buffer, isSharded: boolean): void;
}

/** A run that needs a range yields it and is continued with its pairs (decision 7a). */
export type RunResult = Reply | Slices<Reply>;

export type ReadRun = (view: View, context: RunContext) => RunResult;
export type WriteRun = (view: WriteView, context: RunContext) => RunResult;

interface CommandBase {
  /** Lower case; `config|get` for a subcommand. */
  readonly name: string;
  /** n: exactly; −n: at least. Counts the name. */
  readonly arity: number;
  readonly flags: readonly CommandFlag[];
  readonly keys: KeyPositions;
  /** ACL categories without `@`, beside those the flags imply. */
  readonly categories: readonly string[];
  /** COMMAND DOCS: group, first version, one line. */
  readonly group: string;
  readonly since: string;
  readonly summary: string;
  readonly subcommands?: readonly Command[];
  readonly fanOut?: FanOut;
  /** For commands whose keys the positions cannot tell. */
  readonly keysOf?: (args: readonly Buffer[]) => readonly Buffer[];
  /** It answers values of keys that the request does not name: only who may read all keys runs it. */
  readonly readsAnyKey?: boolean;
  /**
   * Which commands it runs, on which keys and channels, is not known before it does: only who may run
   * all of them runs it, and it may have changed whatever its partition has.
   */
  readonly runsAnything?: boolean;
  /** Of a request that names no key: what stands for one, so that equal requests meet in a partition. */
  readonly placedBy?: (args: readonly Buffer[]) => Buffer;
  /**
   * The apply version (`partition/entries/envelope.ts`) of an entry that holds this line: absent for what
   * builds of any version carry out alike. It is proposed only where all members know that version.
   */
  readonly appliesFrom?: (line: readonly Buffer[]) => number;
  /**
   * In entries of an older version such a line is refused, as the builds that wrote them do. `itself`: by
   * what it runs, in its own words.
   */
  readonly refusedBefore?: boolean | 'itself';
  /** What those builds say of it: by default that it is a syntax error. */
  readonly refusedAs?: string;
  /**
   * What it comes to has changed with apply versions: its entry is of the highest that all members know, and
   * never held back for that.
   */
  readonly hasChanged?: boolean;
  /** The command within, of one that only carries another; undefined when there is no such one. */
  readonly carries?: (args: readonly Buffer[]) => Carried | undefined;
}

export interface Carried {
  readonly command: Command;
  readonly line: readonly Buffer[];
}

/** Served by the node that the client talks to: no data of a partition. */
export interface NodeCommand extends CommandBase {
  readonly kind: 'node';
  readonly run: (args: readonly Buffer[], context: NodeContext) => Reply | Promise<Reply>;
}

export interface ReadCommand extends CommandBase {
  readonly kind: 'read';
  /** Pure: checks and parses the arguments; an error reply, or the run. */
  readonly prepare: (args: readonly Buffer[]) => Prepared<ReadRun>;
  /** Touches exactly one engine key: may run while a batch is being written. */
  readonly singlePoint?: boolean;
  /**
   * With keys of several partitions, on the gateway: values of these types are brought together
   * and it runs on them.
   */
  readonly gathers?: readonly GatheredType[];
  /** As a write's; what waits is read again, and takes nothing. */
  readonly blocking?: (args: readonly Buffer[]) => ReadingForm | undefined;
}

/** A request that waits until a stream has entries for it, which others may read as well (redis.io, XREAD). */
export interface ReadingForm {
  readonly keys: readonly Buffer[];
  /** Of each key the ID behind which it reads, as it was sent; `$`: the last one there is. */
  readonly ids: readonly Buffer[];
  /** 0: for ever. */
  readonly timeoutMs: number;
  /** The same request of other keys and IDs. */
  readonly of: (keys: readonly Buffer[], ids: readonly Buffer[]) => readonly Buffer[];
}

/** A request that waits until one of its keys has something for it to take (redis.io, BLPOP). */
export interface BlockingForm {
  /** In the order in which they are looked at. */
  readonly keys: readonly Buffer[];
  readonly type: 'list' | 'zset' | 'stream';
  /** 0: for ever. */
  readonly timeoutMs: number;
  /** Of a stream: those of one group share its entries, each group is given all of them. */
  readonly group?: Buffer;
  /** It is given as well what others have had for so many milliseconds. */
  readonly claimIdleMs?: number;
  /** The key that it adds to. */
  readonly fills?: Buffer;
  /** The same request of one of its keys alone. */
  readonly only: (key: Buffer) => readonly Buffer[];
}

export interface WriteCommand extends CommandBase {
  readonly kind: 'write';
  /** Leaves nothing of the partition's Redis data: apply clears the range instead of running it. */
  readonly empties?: boolean;
  /**
   * What it waits for when its run finds nothing, of arguments that `prepare` has taken; undefined: they
   * do not ask for that.
   */
  readonly blocking?: (args: readonly Buffer[]) => BlockingForm | undefined;
  readonly prepare: (args: readonly Buffer[]) => Prepared<WriteRun>;
}

export type Prepared<Run> =
  | { readonly ok: true; readonly run: Run }
  | { readonly ok: false; readonly reply: Reply };

export type Command = NodeCommand | ReadCommand | WriteCommand;

/** Thrown by argument parsers, caught by the builders: an error reply's text. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

type Columns<T extends Command, Without extends keyof T> = Omit<T, 'kind' | Without>;

export function node(row: Columns<NodeCommand, never>): NodeCommand {
  return { ...row, kind: 'node' };
}

export function read<Parsed>(
  row: Columns<ReadCommand, 'prepare'> & {
    readonly parse: (args: readonly Buffer[]) => Parsed;
    readonly run: (view: View, parsed: Parsed, context: RunContext) => RunResult;
  },
): ReadCommand {
  const { parse, run, ...columns } = row;
  const close =
    (parsed: Parsed): ReadRun =>
    (view, context) =>
      run(view, parsed, context);
  return {
    ...columns,
    kind: 'read',
    prepare: (args) => prepare(args, parse, close),
  };
}

export function write<Parsed>(
  row: Columns<WriteCommand, 'prepare'> & {
    readonly parse: (args: readonly Buffer[]) => Parsed;
    readonly run: (view: WriteView, parsed: Parsed, context: RunContext) => RunResult;
  },
): WriteCommand {
  const { parse, run, ...columns } = row;
  const close =
    (parsed: Parsed): WriteRun =>
    (view, context) =>
      run(view, parsed, context);
  return {
    ...columns,
    kind: 'write',
    prepare: (args) => prepare(args, parse, close),
  };
}

function prepare<Parsed, Run>(
  args: readonly Buffer[],
  parse: (args: readonly Buffer[]) => Parsed,
  close: (parsed: Parsed) => Run,
): Prepared<Run> {
  try {
    return { ok: true, run: close(parse(args)) };
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return { ok: false, reply: { kind: 'error', text: failure.message } };
  }
}

/** What is carried out: the command itself, or the one that it carries. */
export function carriedOut(command: Command, line: readonly Buffer[]): Carried {
  return command.carries?.(line) ?? { command, line };
}

/**
 * What builds to which the entry of a write is due answer where they refuse what it asks for, and know
 * nothing of: then it is refused here as well.
 */
export function refusalBefore(
  row: Command,
  line: readonly Buffer[],
  version?: number,
): Reply | undefined {
  const { command, line: inner } = carriedOut(row, line);
  if (version === undefined || command.refusedBefore !== true) return undefined;
  if ((command.appliesFrom?.(inner) ?? 0) <= version) return undefined;
  return { kind: 'error', text: command.refusedAs ?? 'ERR syntax error' };
}

/** The keys of a request; empty for keyless commands. `args[0]` is the command's name. */
export function keysOf(command: Command, args: readonly Buffer[]): readonly Buffer[] {
  if (command.keysOf) return command.keysOf(args);
  const { first, last, step } = command.keys;
  if (first === 0) return [];
  const end = last < 0 ? args.length + last : last;
  const found: Buffer[] = [];
  for (let at = first; at <= end && at < args.length; at += step) found.push(args[at]!);
  return found;
}
