/** Every command that reads or writes keys, with a way to draw its arguments. */
import type { Arguments, Draw, Line } from './draw.ts';
import { functionCommands, functionReads } from './function.ts';
import { hashCommands, hashReads } from './hash.ts';
import { jsonCommands, jsonReads } from './json.ts';
import { keyCommands, keyReads } from './key.ts';
import { listCommands, listReads } from './list.ts';
import { scriptCommands, scriptReads } from './script.ts';
import { setCommands, setReads } from './set.ts';
import { streamCommands, streamReads } from './stream.ts';
import { stringCommands, stringReads } from './string.ts';
import { zanCommands, zanReads } from './zan.ts';
import { geoCommands, geoReads, zsetCommands, zsetReads } from './zset.ts';

export const writeCommands: Readonly<Record<string, Arguments>> = {
  ...stringCommands,
  ...hashCommands,
  ...listCommands,
  ...setCommands,
  ...zsetCommands,
  ...geoCommands,
  ...keyCommands,
  ...zanCommands,
  ...scriptCommands,
  ...functionCommands,
  ...streamCommands,
  ...jsonCommands,
};

export const readCommands: Readonly<Record<string, Arguments>> = {
  ...stringReads,
  ...hashReads,
  ...listReads,
  ...setReads,
  ...zsetReads,
  ...geoReads,
  ...keyReads,
  ...zanReads,
  ...scriptReads,
  ...functionReads,
  ...streamReads,
  ...jsonReads,
};

/** Rows of the command table that are not drawn here, and where they are. */
export const drawnElsewhere: Readonly<Record<string, string>> = {
  'json.debug': 'a tool of whoever looks for memory',
  'cluster|countkeysinslot': 'unit tests; KEYS and SCAN walk the same records',
  'cluster|getkeysinslot': 'as COUNTKEYSINSLOT',
  exec: 'the workload makes transactions of what is drawn here',
  watch: 'before some of those transactions, and before every compare-and-set',
  flushall: 'in runs without keys that checkers follow over the whole run',
  flushdb: 'in runs without keys that checkers follow over the whole run',
  'object|encoding': 'as OBJECT',
  'object|freq': 'an error with the eviction policies there are',
  'object|idletime': 'as OBJECT',
  'object|refcount': 'as OBJECT',
  'memory|usage': 'as MEMORY',
  'debug|object': 'a tool of whoever looks for a fault',
  'debug|witness': 'the simulator has the logs themselves',
  'xgroup|create': 'as XGROUP',
  'xgroup|createconsumer': 'as XGROUP',
  'xgroup|delconsumer': 'as XGROUP',
  'xgroup|destroy': 'as XGROUP',
  'xgroup|setid': 'as XGROUP',
  'xinfo|consumers': 'as XINFO',
  'xinfo|groups': 'as XINFO',
  'xinfo|stream': 'as XINFO',
  'restore-asking': 'RESTORE by another name',
  'script|load': 'unit tests; EVAL keeps scripts as well',
  'script|exists': 'unit tests',
  'script|flush': 'unit tests',
  'function|load': 'clients change libraries now and then, in all partitions',
  'function|delete': 'as FUNCTION LOAD',
  'function|flush': 'as FUNCTION LOAD',
  'function|restore': 'unit tests',
  'function|list': 'unit tests',
  'function|dump': 'unit tests',
  'function|stats': 'unit tests',
  'kv.once': 'clients with a session send some of what they write under it',
  'kv.session|open': 'clients with a session open one in each group',
  'kv.session|close': 'unit tests close them',
};

/** Where the random, the clock or the order of a host would show first, and what feeds them. */
const DELICATE = ['sort', 'sort', 'sort', 'sadd', 'rpush', 'spop', 'getex', 'pexpire', 'hpexpire'];
const DELICATE_SHARE = 0.2;
/** Something is pending only where there is a group, entries, and who asks for them. */
const GROUPED = ['xadd', 'xadd', 'xgroup', 'xgroup', 'xreadgroup', 'xreadgroup', 'xack', 'xclaim'];
const GROUPED_SHARE = 0.1;
/** Calls meet another build of their library only if there are some around each change of it. */
const CALLED_SHARE = 0.05;
/** What tells of deadlines: few keys have one, and not for long. */
const TIMELY = ['ttl', 'pttl', 'pttl', 'httl', 'hpttl', 'hpttl', 'zan.ttl', 'pexpiretime'];
const TIMELY_SHARE = 0.15;

const writes = Object.entries(writeCommands);
const delicate = DELICATE.map((name) => [name, writeCommands[name]!] as const);
const grouped = GROUPED.map((name) => [name, writeCommands[name]!] as const);
const called = Object.entries(functionCommands);
const reads = Object.entries(readCommands);
const timely = TIMELY.map((name) => [name, readCommands[name]!] as const);

export function drawWrite(draw: Draw): Line {
  if (draw.chance(GROUPED_SHARE)) return lineOf(draw, grouped);
  if (draw.chance(CALLED_SHARE)) return lineOf(draw, called);
  return lineOf(draw, draw.chance(DELICATE_SHARE) ? delicate : writes);
}

export function drawRead(draw: Draw): Line {
  return lineOf(draw, draw.chance(TIMELY_SHARE) ? timely : reads);
}

function lineOf(draw: Draw, from: readonly (readonly [string, Arguments])[]): Line {
  const [name, args] = draw.one(from);
  return [name.toUpperCase(), ...args(draw)];
}
