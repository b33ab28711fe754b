/**
 * `redis` as scripts have it (redis.io, "Redis Lua API"). It is made once and has no state of a run: what is
 * asked of a run goes to whoever drives the machine (`run-script.ts`).
 */
import { createHash } from 'node:crypto';
import { numberOf } from '../../lua/library/arguments.ts';
import {
  type Library,
  type LuaRun,
  type Meter,
  type NativeFunction,
  native,
} from '../../lua/values/function.ts';
import { formatNumber } from '../../lua/values/numbers.ts';
import { LuaTable } from '../../lua/values/table.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import type { Protocol } from '../../resp/reply.ts';
import { errorTable, errorText, raised } from './script-errors.ts';

type Values = readonly LuaValue[];

/** What a function of `redis` asks of the run that it is called in. */
export type HostRequest =
  | {
      readonly kind: 'command';
      readonly args: Values;
      /** An error is given back (redis.pcall), and not raised. */
      readonly isProtected: boolean;
      readonly meter: Meter;
    }
  | { readonly kind: 'check'; readonly args: Values; readonly meter: Meter }
  | { readonly kind: 'setresp'; readonly protocol: Protocol };

/** The version of Redis that scripts are told, as INFO has it: part of what they come to. */
const VERSION = [7, 2, 4] as const;
const WRONG_ARGUMENT = 'ERR wrong number or type of arguments';
const REPLICATION_MAX = 3;
const LOG_LEVEL_MAX = 3;
/** Characters that are looked through by one step. */
const LOOKED_PER_STEP = 16;

function* ask(request: HostRequest): LuaRun {
  return yield { kind: 'host', request };
}

function calling(name: string, isProtected: boolean): NativeFunction {
  return native(name, (args, meter) => ask({ kind: 'command', args, isProtected, meter }));
}

const errorReply = native('error_reply', (args, meter) => {
  const message = onlyString(args);
  if (message !== undefined) meter.steps(Math.floor(message.length / LOOKED_PER_STEP));
  return [errorTable(message === undefined ? WRONG_ARGUMENT : errorText(message))];
});

const statusReply = native('status_reply', (args) => {
  const message = onlyString(args);
  if (message === undefined) return [errorTable(WRONG_ARGUMENT)];
  const table = new LuaTable();
  table.set('ok', message);
  return [table];
});

const sha1Hex = native('sha1hex', (args, meter) => {
  if (args.length !== 1) throw raised('wrong number of arguments');
  const text = stringOf(args[0]);
  meter.steps(text.length);
  return [createHash('sha1').update(text, 'latin1').digest('hex')];
});

const setResp = native('setresp', (args, meter) => {
  if (args.length !== 1) throw raised('redis.setresp() requires one argument.');
  const protocol = Math.trunc(numberOf(args[0], meter) ?? 0);
  if (protocol === 2 || protocol === 3) return ask({ kind: 'setresp', protocol });
  throw raised('RESP version must be 2 or 3.');
});

/** Of a node's log a script writes nothing: every replica runs it. */
const log = native('log', (args) => {
  if (args.length < 2) throw raised('redis.log() requires two arguments or more.');
  const [level] = args;
  if (typeof level !== 'number') throw raised('First argument must be a number (log level).');
  if (!(level >= 0 && level < LOG_LEVEL_MAX + 1)) throw raised('Invalid debug level.');
  return [];
});

/** What is replicated is the script. */
const setRepl = native('set_repl', (args, meter) => {
  if (args.length !== 1) throw raised('redis.set_repl() requires two arguments.');
  const flags = Math.trunc(numberOf(args[0], meter) ?? 0);
  if (flags >= 0 && flags <= REPLICATION_MAX) return [];
  throw raised('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.');
});

export const redisLibrary: Library = {
  call: calling('call', false),
  pcall: calling('pcall', true),
  error_reply: errorReply,
  status_reply: statusReply,
  sha1hex: sha1Hex,
  setresp: setResp,
  log,
  set_repl: setRepl,
  replicate_commands: native('replicate_commands', () => [true]),
  breakpoint: native('breakpoint', () => [false]),
  debug: native('debug', () => []),
  acl_check_cmd: native('acl_check_cmd', (args, meter) => ask({ kind: 'check', args, meter })),
  LOG_DEBUG: 0,
  LOG_VERBOSE: 1,
  LOG_NOTICE: 2,
  LOG_WARNING: 3,
  REPL_NONE: 0,
  REPL_AOF: 1,
  REPL_SLAVE: 2,
  REPL_REPLICA: 2,
  REPL_ALL: 3,
  REDIS_VERSION: VERSION.join('.'),
  REDIS_VERSION_NUM: (VERSION[0] << 16) | (VERSION[1] << 8) | VERSION[2],
};

function onlyString(args: Values): string | undefined {
  const [message] = args;
  return args.length === 1 && typeof message === 'string' ? message : undefined;
}

/** As C is given it of any value: nothing of what is no text and no number. */
function stringOf(value: LuaValue): string {
  if (typeof value === 'number') return formatNumber(value);
  return typeof value === 'string' ? value : '';
}
