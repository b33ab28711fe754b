/** Whether a user may run a request; pure. */

import { limits } from '../../common/limits.ts';
import { type KeyUse, keyUses } from '../commands/docs/key-specs.ts';
import { sortReadsBy } from '../commands/keys/sort.ts';
import type { Subscriber } from '../commands/pubsub/pubsub-port.ts';
import { type Command, carriedOut, keysOf } from '../commands/rows/command.ts';
import { type Glob, matchesGlob, parseGlob } from '../commands/texts/glob.ts';
import { mayRun } from './may-run.ts';
import { lackOf } from './script-rights.ts';
import type { KeyPattern, Selector, User } from './user.ts';

/** The first thing in the request that the user may not; `object`: what the log shows of it. */
export interface Denial {
  readonly reason: 'command' | 'key' | 'channel';
  readonly object: string;
  /** Which argument it is. */
  readonly at: number;
  /** Nothing that the request names is denied, but something that its script may do. */
  readonly ofScript?: boolean;
}

/** Of several selectors' denials the most telling one is the answer, the furthest of those alike. */
const telling: readonly Denial['reason'][] = ['command', 'key', 'channel'];

/**
 * Undefined: one of the user's selectors allows all of the request. A command that only carries
 * another needs what that needs.
 */
export function denialOf(user: User, row: Command, request: readonly Buffer[]): Denial | undefined {
  const { command, line: args } = carriedOut(row, request);
  let worst: Denial | undefined;
  for (const selector of [user.root, ...user.selectors]) {
    const denial = denialBy(selector, command, args);
    if (denial === undefined) return undefined;
    if (worst === undefined || isMoreTelling(denial, worst)) worst = denial;
  }
  return worst;
}

function isMoreTelling(one: Denial, other: Denial): boolean {
  const more = telling.indexOf(one.reason) - telling.indexOf(other.reason);
  return more > 0 || (more === 0 && one.at > other.at);
}

function denialBy(
  selector: Selector,
  command: Command,
  args: readonly Buffer[],
): Denial | undefined {
  if (!mayRun(selector, command, args)) return { reason: 'command', object: command.name, at: 0 };
  if (command.runsAnything === true) return scriptDenial(selector, command);
  return keyDenial(selector, command, args) ?? channelDenial(selector, command, args);
}

function scriptDenial(selector: Selector, command: Command): Denial | undefined {
  const reason = lackOf(selector, command);
  if (reason === 'nothing') return undefined;
  const object = reason === 'command' ? command.name : '*';
  return { reason, object, at: 0, ofScript: true };
}

function keyDenial(
  selector: Selector,
  command: Command,
  args: readonly Buffer[],
): Denial | undefined {
  if (command.readsAnyKey && !readsAll(selector)) return { reason: 'key', object: '*', at: 0 };
  const { keys } = selector;
  // channels stand where keys would, so that a cluster client finds their slot
  if (keys === 'all' || command.flags.includes('pubsub')) return undefined;
  const uses = keyUses(command, args, keysOf(command, args));
  const denied = uses.find((use) => !keys.some((pattern) => allows(pattern, use)));
  return denied && denialAt('key', denied.key, args);
}

function allows({ pattern, read, write }: KeyPattern, { key, flags }: KeyUse): boolean {
  if (flags.includes('access') && !read) return false;
  const writes = flags.some((flag) => flag === 'update' || flag === 'insert' || flag === 'delete');
  if (writes && !write) return false;
  return matches(pattern, key);
}

/**
 * The option of SORT that the user may not use: BY with a pattern and GET read keys that nobody knows
 * before the command runs, so they take a selector that allows it and the reading of all keys.
 */
export function sortOptionDenied(
  user: User,
  row: Command,
  request: readonly Buffer[],
): 'BY' | 'GET' | undefined {
  const { command, line: args } = carriedOut(row, request);
  if (command.name !== 'sort' && command.name !== 'sort_ro') return undefined;
  const option = sortReadsBy(args);
  if (option === undefined) return undefined;
  const allows = (selector: Selector) =>
    readsAll(selector) && denialBy(selector, command, args) === undefined;
  return [user.root, ...user.selectors].some(allows) ? undefined : option;
}

function readsAll({ keys }: Selector): boolean {
  return keys === 'all' || keys.some(({ pattern, read }) => read && pattern === '*');
}

const named: ReadonlyMap<string, 'first' | 'all' | 'patterns'> = new Map([
  ['publish', 'first'],
  ['spublish', 'first'],
  ['subscribe', 'all'],
  ['ssubscribe', 'all'],
  ['psubscribe', 'patterns'],
]);

function channelDenial(
  selector: Selector,
  { name }: Command,
  args: readonly Buffer[],
): Denial | undefined {
  const which = named.get(name);
  if (which === undefined) return undefined;
  const wanted = which === 'first' ? args.slice(1, 2) : args.slice(1);
  const denied = wanted.find((channel) => !mayHear(selector, channel, which === 'patterns'));
  return denied && denialAt('channel', denied, args);
}

function denialAt(reason: Denial['reason'], what: Buffer, args: readonly Buffer[]): Denial {
  return { reason, object: what.toString('latin1'), at: args.indexOf(what) };
}

/** Whether each subscription is allowed by one of the user's selectors. */
export function mayKeep(
  user: User,
  { channel, pattern, shard }: Subscriber['subscriptions'],
): boolean {
  if (channel.size + pattern.size + shard.size === 0) return true;
  const selectors = [user.root, ...user.selectors];
  const allowed = (name: string, isPattern: boolean) =>
    selectors.some((selector) => mayHear(selector, Buffer.from(name, 'latin1'), isPattern));
  return (
    [...channel.keys(), ...shard.keys()].every((name) => allowed(name, false)) &&
    [...pattern.keys()].every((name) => allowed(name, true))
  );
}

/** A pattern has to be one of the user's own, letter by letter. */
function mayHear({ channels }: Selector, name: Buffer, isPattern: boolean): boolean {
  if (channels === 'all') return true;
  return channels.some((pattern) =>
    isPattern ? pattern === name.toString('latin1') : matches(pattern, name),
  );
}

/** Patterns that were asked for, of all users; some that nobody has any more may be among them. */
const globs = new Map<string, Glob>();
let globCharacters = 0;
/** Each is an object; all patterns of some users at least are kept. */
const GLOB_CHARACTERS_MAX = 8 * limits.aclRulesMax;

function matches(pattern: string, text: Buffer): boolean {
  return matchesGlob(globs.get(pattern) ?? readGlob(pattern), text);
}

function readGlob(pattern: string): Glob {
  const glob = parseGlob(Buffer.from(pattern, 'latin1'));
  globCharacters += pattern.length;
  if (globCharacters > GLOB_CHARACTERS_MAX) {
    globs.clear();
    globCharacters = pattern.length;
  }
  globs.set(pattern, glob);
  return glob;
}
