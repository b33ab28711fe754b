/** From what a caller gives a method to the line that is sent, and the options of the call. Pure. */
import { didYouMean } from '../common/nearest-name.ts';
import type { CallOptions, Consistency, WatchOptions } from './command-types.ts';
import type { Argument } from './connection.ts';
import { ownError } from './errors.ts';

export interface ParsedCall {
  /** The command's name, in upper case, first. */
  readonly line: readonly Argument[];
  readonly options: CallOptions;
}

/** Where an object stands for pairs: index among the arguments. */
const pairsAt: Readonly<Record<string, number>> = {
  ...{ mset: 0, msetnx: 0, plset: 0 },
  ...{ hset: 1, hmset: 1 },
};

/** Throws BAD_ARGUMENT for what cannot be sent. */
export function parseCall(name: string, given: readonly unknown[]): ParsedCall {
  if (!/^[A-Za-z][\w.|-]*$/.test(name)) {
    throw ownError('BAD_ARGUMENT', `${JSON.stringify(name)} is no command name`);
  }
  const line: Argument[] = [name.toUpperCase()];
  const pairs = pairsAt[name.toLowerCase()];
  const last = given.length - 1;
  let options: CallOptions = {};
  given.forEach((value, at) => {
    if (at === pairs && isRecord(value)) addPairs(line, name, value);
    else if (at === last && value === undefined) return;
    else if (at === last && isPlain(value)) options = checkedOptions(name, value);
    else addValue(line, name, value, at);
  });
  return { line, options };
}

function addValue(line: Argument[], name: string, value: unknown, at: number): void {
  if (Array.isArray(value)) {
    for (const item of value) addValue(line, name, item, at);
    return;
  }
  line.push(argumentOf(name, value, `argument ${at + 1}`));
}

function argumentOf(name: string, value: unknown, which: string): Argument {
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'number' && !Number.isNaN(value)) return numberText(value);
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  const shown =
    value === null
      ? 'null'
      : Number.isNaN(value)
        ? 'NaN'
        : isThing(value)
          ? tagOf(value)
          : typeof value;
  throw ownError(
    'BAD_ARGUMENT',
    `${which} of ${name} is ${shown}; it must be a string, a number or a Buffer`,
  );
}

/** As the server spells what JavaScript calls Infinity. */
function numberText(value: number): Argument {
  if (value === Number.POSITIVE_INFINITY) return 'inf';
  return value === Number.NEGATIVE_INFINITY ? '-inf' : value;
}

function addPairs(line: Argument[], name: string, record: object): void {
  const entries = record instanceof Map ? [...record] : Object.entries(record);
  for (const [key, value] of entries) {
    line.push(argumentOf(name, key, 'a name'));
    line.push(argumentOf(name, value, `the value of ${String(key)}`));
  }
}

function isRecord(value: unknown): value is object {
  return isPlain(value) || value instanceof Map;
}

/** Options are: a promise, a date or a map in their place is a mistake. */
function isPlain(value: unknown): value is object {
  return isThing(value) && tagOf(value) === 'Object';
}

function isThing(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** `Promise`, `Date`, `Map` …; of plain objects and most classes `Object`. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

const callOptionNames = new Set(['signal', 'timeoutMs', 'consistency']);

function checkedOptions(name: string, given: object): CallOptions {
  const options: CallOptions = given;
  for (const option of Object.keys(options)) {
    if (callOptionNames.has(option)) continue;
    throw ownError(
      'BAD_ARGUMENT',
      `${name} has no option ${option}${didYouMean(option, callOptionNames)}; ` +
        `there are ${[...callOptionNames].join(', ')}`,
    );
  }
  const { signal, timeoutMs, consistency } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw ownError('BAD_ARGUMENT', `signal of ${name} must be an AbortSignal`);
  }
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw ownError('BAD_ARGUMENT', `timeoutMs of ${name} must be a number above 0`);
  }
  if (consistency !== undefined) checkConsistency(consistency, `consistency of ${name}`);
  return options;
}

/** Throws BAD_ARGUMENT: nobody would ever call it. */
export function refuseCallback(name: string, given: readonly unknown[]): void {
  if (!given.some((value) => typeof value === 'function')) return;
  throw ownError('BAD_ARGUMENT', `${name} takes no callback: await the promise that it returns`);
}

/** Of what gathers commands. Throws BAD_ARGUMENT: a list of commands would never be sent. */
export function refuseArguments(name: string, given: readonly unknown[]): void {
  refuseCallback(name, given);
  if (given.every((value) => value === undefined)) return;
  const text = `${name} takes no arguments: commands are added by their methods, or by call(), and`;
  throw ownError('BAD_ARGUMENT', `${text} have their options there`);
}

/** Names to listen to. Throws BAD_ARGUMENT. */
export function checkNames(name: string, given: readonly unknown[]): void {
  refuseCallback(name, given);
  const at = given.findIndex((value) => typeof value !== 'string');
  if (at === -1) return;
  throw ownError('BAD_ARGUMENT', `argument ${at + 1} of ${name} must be a string`);
}

/** What a transaction's exec is given: options or nothing. Throws BAD_ARGUMENT. */
export function parseExec(options: unknown): CallOptions {
  return options === undefined ? {} : checkedOptions('exec', optionsIn('exec', options));
}

/** Throws BAD_ARGUMENT, as for a callback in their place. */
function optionsIn(name: string, given: unknown): object {
  if (isPlain(given)) return given;
  refuseCallback(name, [given]);
  throw ownError('BAD_ARGUMENT', `what ${name} is given last must be an object of options`);
}

/** The keys of a watch, at least one. Throws BAD_ARGUMENT, also for wrong options. */
export function parseWatch(keys: unknown, body: unknown, options: WatchOptions): Argument[] {
  const line: Argument[] = [];
  addValue(line, 'watch', keys, 0);
  if (line.length === 0) throw ownError('BAD_ARGUMENT', 'watch needs a key');
  if (typeof body !== 'function') {
    const text = 'watch takes keys and a function that reads and returns tx.multi()…: calls share ';
    throw ownError('BAD_ARGUMENT', `${text}their connections, so there is no WATCH by itself`);
  }
  const { attemptsMax, ...others }: WatchOptions = optionsIn('watch', options);
  if (attemptsMax !== undefined && !(Number.isInteger(attemptsMax) && attemptsMax > 0)) {
    throw ownError('BAD_ARGUMENT', 'attemptsMax of watch must be a whole number above 0');
  }
  checkedOptions('watch', others);
  return line;
}

/** Throws BAD_ARGUMENT; `what` names the option. */
export function checkConsistency(given: Consistency, what: string): void {
  if (given === 'linearizable' || given === 'lease' || given === 'stale') return;
  const bound = typeof given === 'object' && given !== null ? given.maxStalenessMs : undefined;
  if (typeof bound === 'number' && Number.isFinite(bound) && bound >= 0) return;
  throw ownError(
    'BAD_ARGUMENT',
    `${what} must be 'linearizable', 'lease', 'stale' or { maxStalenessMs: number of at least 0 }`,
  );
}
