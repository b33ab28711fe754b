/**
 * `redis` as a library has it while it is loaded: it registers functions, and nothing else (redis.io, Redis
 * functions). What is registered belongs to the machine that it is registered in.
 */
import { functionFlags, type RegisteredFunction } from '../../encoding/scripts/kept-libraries.ts';
import { perRun } from '../../lua/library/per-run.ts';
import { isFunction } from '../../lua/machine/calls.ts';
import { onlyGlobals, readonlyTable } from '../../lua/machine/globals.ts';
import type { Meter } from '../../lua/values/function.ts';
import { native } from '../../lua/values/function.ts';
import { formatNumber } from '../../lua/values/numbers.ts';
import { LuaTable } from '../../lua/values/table.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import { scriptGlobals } from '../scripts/machine.ts';
import { redisLibrary } from '../scripts/redis-library.ts';
import { raised } from '../scripts/script-errors.ts';
import { nameRefusal } from './library-metadata.ts';

/** A function with what is called. */
export interface Registered extends RegisteredFunction {
  readonly callback: LuaValue;
}

interface Registrations {
  /** The library is being loaded. */
  isOpen: boolean;
  /** By their names in lower case: whoever calls one does not tell cases apart. */
  readonly functions: Map<string, Registered>;
}

/** What one takes of the library's steps: it is kept, listed and made again before each call. */
const REGISTER_STEPS = 100;
const IN_LOAD = ['log', 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING'];
const VERSIONS = ['REDIS_VERSION', 'REDIS_VERSION_NUM'];

/** Of a machine. */
export const registrationsOf = perRun<Registrations>(() => ({
  isOpen: true,
  functions: new Map(),
}));

const registerFunction = native('register_function', (args, meter) => {
  const { isOpen, functions } = registrationsOf(meter);
  if (!isOpen) throw raised('redis.register_function can only be called on FUNCTION LOAD command');
  meter.steps(REGISTER_STEPS);
  const registered = argumentsOf(args, meter);
  const wrong = nameRefusal(registered.name);
  if (wrong !== undefined) throw raised(wrong);
  const key = registered.name.toLowerCase();
  if (functions.has(key)) throw raised('Function already exists in the library');
  functions.set(key, registered);
  return [];
});

const redis = readonlyTable({
  register_function: registerFunction,
  ...Object.fromEntries([...IN_LOAD, ...VERSIONS].map((name) => [name, redisLibrary[name]!])),
});
redis.metatable = scriptGlobals.metatable;

/** All that there is while a library is loaded. */
export const loadGlobals = onlyGlobals(scriptGlobals, { redis });

function argumentsOf(args: readonly LuaValue[], meter: Meter): Registered {
  if (args.length === 1) return namedArguments(args[0], meter);
  if (args.length !== 2) throw raised('wrong number of arguments to redis.register_function');
  const [first, callback] = args;
  const name = textOf(first);
  if (name === undefined) {
    throw raised('first argument to redis.register_function must be a string');
  }
  if (!isFunction(callback)) {
    throw raised('second argument to redis.register_function must be a function');
  }
  return { name, callback, flags: 0, description: undefined };
}

type Named = { -readonly [Field in keyof Registered]?: Registered[Field] };

function namedArguments(table: LuaValue, meter: Meter): Registered {
  if (!(table instanceof LuaTable)) {
    throw raised(
      'calling redis.register_function with a single argument is only applicable to Lua table ' +
        '(representing named arguments).',
    );
  }
  const found: Named = {};
  for (let pair = table.next(undefined); pair !== undefined; pair = table.next(pair[0])) {
    meter.steps(1);
    takeNamed(found, pair[0], pair[1], meter);
  }
  const { name, callback, flags = 0, description } = found;
  if (name === undefined) {
    throw raised('redis.register_function must get a function name argument');
  }
  if (callback === undefined) throw raised('redis.register_function must get a callback argument');
  return { name, callback, flags, description };
}

function takeNamed(found: Named, key: LuaValue, value: LuaValue, meter: Meter): void {
  const text = textOf(key);
  if (text === undefined) {
    throw raised('named argument key given to redis.register_function is not a string');
  }
  switch (text.toLowerCase()) {
    case 'function_name':
      found.name = needText(value, 'function_name');
      return;
    case 'description':
      found.description = Buffer.from(needText(value, 'description'), 'latin1');
      meter.bytes(found.description.length);
      return;
    case 'callback':
      if (!isFunction(value)) {
        throw raised('callback argument given to redis.register_function must be a function');
      }
      found.callback = value;
      return;
    case 'flags':
      found.flags = flagsOf(value, meter);
      return;
    default:
      throw raised('unknown argument given to redis.register_function');
  }
}

function needText(value: LuaValue, argument: string): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  throw raised(`${argument} argument given to redis.register_function must be a string`);
}

function flagsOf(value: LuaValue, meter: Meter): number {
  if (!(value instanceof LuaTable)) {
    throw raised(
      'flags argument to redis.register_function must be a table representing function flags',
    );
  }
  let flags = 0;
  for (let at = 1; ; at++) {
    const item = value.get(at);
    if (item === undefined) return flags;
    meter.steps(1);
    const name = textOf(item)?.toLowerCase() ?? '';
    if (!Object.hasOwn(functionFlags, name)) throw raised('unknown flag given');
    flags |= functionFlags[name as keyof typeof functionFlags];
  }
}

/** A string, or a number as one. */
function textOf(value: LuaValue): string | undefined {
  if (typeof value === 'number') return formatNumber(value);
  return typeof value === 'string' ? value : undefined;
}
