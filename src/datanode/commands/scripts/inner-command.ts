/** A command that a script runs: whether it may, and what it answers. */
import { holdsKey } from '../../../common/hash.ts';
import { limits } from '../../../common/limits.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { LuaError } from '../../lua/values/error.ts';
import { array, bulk, error, integer, type Reply } from '../../resp/reply.ts';
import { ReplyTooLargeError } from '../../resp/reply-pile.ts';
import { shownText } from '../rows/args.ts';
import {
  type Command,
  keysOf,
  type ReadCommand,
  type RunContext,
  type RunResult,
  refusalBefore,
  type WriteCommand,
} from '../rows/command.ts';
import { errorTable } from './script-errors.ts';

type Line = readonly Buffer[];

export type Resolve = (line: Line) => Command | undefined;

/** Where a script runs. */
export interface Ground {
  readonly resolve: Resolve;
  readonly view: View;
  /** The same view, where the script may write. */
  readonly store?: WriteView | undefined;
  readonly context: RunContext;
}

const UNKNOWN = 'Unknown Redis command called from script';
const WRONG_COUNT = 'Wrong number of args calling Redis command from script';
const NOT_ALLOWED = 'This Redis command is not allowed from script';
const READ_ONLY = 'Write commands are not allowed from read-only scripts.';
const NOT_LOCAL = 'Script attempted to access a non local key in a cluster node';
/** Commands of others' protocols, and what they rest on. */
const OWN = /^(?:kv|zan)\./;
/** They read, and a script that only reads may not: Redis may have to tell its replicas of them. */
const REPLICATED: ReadonlySet<string> = new Set(['publish', 'spublish', 'pfcount']);

function refused(text: string): LuaError {
  return new LuaError(errorTable(`ERR ${text}`, true), 0);
}

/** The row of what a script calls. Throws LuaError where there is none, or it may not. */
export function allowed({ resolve, store, context }: Ground, line: Line): Command {
  const row = resolve(line);
  if (row === undefined || isUnknown(row, line, context)) throw refused(UNKNOWN);
  if (row.arity >= 0 ? line.length !== row.arity : line.length < -row.arity) {
    throw refused(WRONG_COUNT);
  }
  if (row.flags.includes('noscript') || OWN.test(row.name)) throw refused(NOT_ALLOWED);
  if (asksToWait(row, line)) {
    throw refused(`${shownText(line[0]!)} command is not allowed with BLOCK option from scripts`);
  }
  const isServed = row.kind !== 'node' || nodeRuns.has(row.name);
  if (!isServed || (row.kind === 'write' && row.empties)) throw refused(NOT_ALLOWED);
  if (store === undefined && mayChange(row)) throw refused(READ_ONLY);
  if (row.kind !== 'node') checkKeys(keysOf(row, line), context);
  return row;
}

/** XREAD and XREADGROUP with BLOCK; other commands that may wait do not do it in scripts. */
function asksToWait({ name }: Command, line: Line): boolean {
  if (name !== 'xread' && name !== 'xreadgroup') return false;
  for (let at = 1; at + 1 < line.length; at++) {
    const option = line[at]!.toString('latin1').toLowerCase();
    if (option === 'block' || option === 'streams') return option === 'block';
    if (option === 'count') at++;
    else if (option === 'group') at += 2;
  }
  return false;
}

/** Whether there is such a command, whatever its arguments. */
export function isKnown({ resolve, context }: Ground, line: Line): boolean {
  const row = resolve(line);
  return row !== undefined && !isUnknown(row, line, context);
}

/**
 * Builds that this entry is due to know nothing of it: what they answer is answered here. A container
 * stands for a subcommand that it has not.
 */
function isUnknown(row: Command, line: Line, { applyVersion }: RunContext): boolean {
  if (row.subcommands !== undefined && line.length > 1) return true;
  if (applyVersion === undefined || row.refusedBefore === 'itself') return false;
  // builds that have the command, too, refuse only what is new in it
  const asked = row.refusedBefore ? line.slice(0, 1) : line;
  return (row.appliesFrom?.(asked) ?? 0) > applyVersion;
}

function mayChange({ kind, name }: Command): boolean {
  return kind === 'write' || REPLICATED.has(name);
}

function checkKeys(keys: Line, context: RunContext): void {
  for (const key of keys) {
    if (key.length > limits.keyBytesMax) {
      throw refused(`a key of ${key.length} bytes is longer than ${limits.keyBytesMax}`);
    }
    if (!holdsKey(context, key)) throw refused(NOT_LOCAL);
  }
}

/** What it answers; an error is an answer. */
export function* runInner(ground: Ground, row: Command, line: Line): Slices<Reply> {
  if (row.kind === 'node') return nodeRuns.get(row.name)!(line, ground.context);
  const refusal = refusalBefore(row, line, ground.context.applyVersion);
  if (refusal !== undefined) return refusal;
  try {
    const result = start(ground, row, line);
    const reply = 'kind' in result ? result : yield* result;
    if (row.kind === 'write') ground.context.effects?.ran(line);
    return reply;
  } catch (failure) {
    // it has changed nothing
    if (!(failure instanceof ReplyTooLargeError)) throw failure;
    return failure.reply;
  }
}

function start(
  { view, store, context }: Ground,
  row: ReadCommand | WriteCommand,
  line: Line,
): RunResult {
  if (row.kind === 'read') {
    const prepared = row.prepare(line);
    return prepared.ok ? prepared.run(view, context) : prepared.reply;
  }
  const prepared = row.prepare(line);
  return prepared.ok ? prepared.run(store!, context) : prepared.reply;
}

/** What nodes answer without asking anybody; time is the entry's. */
const nodeRuns: ReadonlyMap<string, (line: Line, context: RunContext) => Reply> = new Map([
  ['echo', ([, text]) => bulk(text!)],
  ['ping', ping],
  ['time', (_line, { nowMs }) => time(nowMs)],
  ['publish', publish],
  ['spublish', publish],
]);

function ping([, text, ...more]: Line): Reply {
  if (more.length > 0) return error("ERR wrong number of arguments for 'ping' command");
  return text === undefined ? { kind: 'simple', text: 'PONG' } : bulk(text);
}

function time(nowMs: number): Reply {
  const seconds = Math.floor(nowMs / 1_000);
  const micros = Math.round((nowMs - seconds * 1_000) * 1_000);
  return array([bulk(String(seconds)), bulk(String(micros))]);
}

/** Who listens is told later, by whoever leads: how many they are is not known here. */
function publish([name, channel, message]: Line, { effects }: RunContext): Reply {
  if (channel!.length > limits.channelBytesMax) {
    return error(`ERR a channel's name has ${limits.channelBytesMax} bytes at most`);
  }
  const isSharded = name!.length > 'publish'.length;
  effects?.publish(channel!, message!, isSharded);
  return integer(0);
}
