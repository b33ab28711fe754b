/** Arguments of XREAD and XREADGROUP (redis.io, XREAD, XREADGROUP). */
import type { StreamId } from '../../encoding/records/stream-id.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { countArgument, integerArgument, syntaxError, textBytes, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { late } from '../rows/late-error.ts';
import { idArgument } from './stream-args.ts';
import { streamKeys } from './stream-rows.ts';

export interface ReadOptions {
  /** Infinite: all. */
  readonly count: number;
  /** In milliseconds, 0: for ever; undefined: it does not wait. */
  readonly blockMs: number | undefined;
  readonly group: { readonly name: Buffer; readonly consumer: Buffer } | undefined;
  readonly noAck: boolean;
  /** What was last given to anybody so long ago is given first; undefined: it is not asked for. */
  readonly claimIdleMs: number | undefined;
  readonly keys: readonly Buffer[];
  /** One for each key. */
  readonly ids: readonly Buffer[];
}

/**
 * Behind which entries XREAD reads; `last`: behind those there are; `newest`: the last of them alone. What is wrong with an ID is told once
 * its key was looked at: Redis's order.
 */
export interface StreamRead extends Pick<ReadOptions, 'count' | 'blockMs' | 'keys'> {
  readonly ids: readonly (StreamId | 'last' | 'newest' | ArgumentError)[];
}

const NEWEST = '+';
/** Builds before do not know `+`. */
export function readAppliesFrom(args: readonly Buffer[]): number {
  const { at, count } = streamKeys(args);
  const ids = args.slice(at + count);
  const asksNewest = ids.some((id) => textBytes(id).toString('latin1') === NEWEST);
  return asksNewest ? applyVersions.laterRedis : applyVersions.plain;
}

/** XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...] */
export function parseRead(args: readonly Buffer[]): StreamRead {
  const { count, blockMs, keys, ids } = readOptions(args, 'xread');
  return { count, blockMs, keys, ids: ids.map((id) => late(() => readId(id))) };
}

function readId(arg: Buffer): StreamId | 'last' | 'newest' {
  const text = textBytes(arg).toString('latin1');
  if (text === '$') return 'last';
  if (text === NEWEST) return 'newest';
  if (text === '>') {
    throw new ArgumentError(
      'ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> ' +
        '<consumer> option.',
    );
  }
  return idArgument(arg);
}

/** Options, keys and IDs of either command; IDs are not looked at. Throws ArgumentError. */
export function readOptions(args: readonly Buffer[], name: 'xread' | 'xreadgroup'): ReadOptions {
  let count = Number.POSITIVE_INFINITY;
  let blockMs: number | undefined;
  let group: ReadOptions['group'];
  let noAck = false;
  let claimIdleMs: number | undefined;
  for (let at = 1; at < args.length; at++) {
    const more = args.length - at - 1;
    const option = word(args[at]!);
    if (option === 'block' && more > 0) blockMs = blockArgument(args[++at]!);
    else if (option === 'count' && more > 0) count = countOption(args[++at]!);
    else if (option === 'group' && more > 1) {
      if (name === 'xread') throw onlyOfGroups('GROUP');
      group = { name: args[at + 1]!, consumer: args[at + 2]! };
      at += 2;
    } else if (option === 'claim' && more > 0) {
      if (name === 'xread') throw onlyOfGroups('CLAIM');
      claimIdleMs = idleArgument(args[++at]!);
    } else if (option === 'noack') {
      if (name === 'xread') throw onlyOfGroups('NOACK');
      noAck = true;
    } else if (option === 'streams' && more > 0) {
      return { count, blockMs, group, noAck, claimIdleMs, ...keysAndIds(args.slice(at + 1)) };
    } else throw syntaxError();
  }
  throw syntaxError();
}

function keysAndIds(args: readonly Buffer[]) {
  if (args.length % 2 !== 0) {
    throw new ArgumentError(
      "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
    );
  }
  const half = args.length / 2;
  return { keys: args.slice(0, half), ids: args.slice(half) };
}

function onlyOfGroups(option: string): ArgumentError {
  return new ArgumentError(
    `ERR The ${option} option is only supported by XREADGROUP. You called XREAD instead.`,
  );
}

function countOption(arg: Buffer): number {
  const count = countArgument(arg);
  return count <= 0 ? Number.POSITIVE_INFINITY : count;
}

function idleArgument(arg: Buffer): number {
  const value = integerArgument(arg, 'ERR min-idle-time is not an integer or out of range');
  if (value < 0) throw new ArgumentError('ERR min-idle-time must be a positive integer');
  return Number(value);
}

function blockArgument(arg: Buffer): number {
  const value = integerArgument(arg, 'ERR timeout is not an integer or out of range');
  if (value < 0) throw new ArgumentError('ERR timeout is negative');
  return Number(value);
}
