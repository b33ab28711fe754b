/** What a key's value looks like inside: OBJECT and MEMORY. */

import { collectionOf } from '../../encoding/collections/collection.ts';
import { encodingOfHash } from '../../encoding/hashes/hash.ts';
import { type Found, findKey } from '../../encoding/keyspace/keyspace.ts';
import { CHECKSUM_BYTES, storedBytes } from '../../encoding/keyspace/stored-bytes.ts';
import { encodingOfList } from '../../encoding/lists/list.ts';
import { encodingOfZset } from '../../encoding/ranks/zset-header.ts';
import { isCollectionType } from '../../encoding/records/element-key.ts';
import type { Header } from '../../encoding/records/header.ts';
import { encodeExpiryKey } from '../../encoding/records/key.ts';
import { encodingOfSet } from '../../encoding/sets/set.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import type { View } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { argument, countArgument, SYNTAX_ERROR, syntaxError, word } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  node,
  type ReadCommand,
  type RunContext,
  read,
} from '../rows/command.ts';
import { helpForm } from '../rows/help.ts';
import { memoryStats } from './memory-stats.ts';

const SECOND_KEY = { first: 2, last: 2, step: 1 };
/** Redis keeps strings up to this length in one allocation with their header. */
const EMBEDDED_BYTES_MAX = 44;
/** Integers below this are shared objects in Redis. */
const SHARED_INTEGERS = 10_000;
const SHARED_REFERENCES = 2_147_483_647;
/** Redis's default. */
const SAMPLES = 5;
/** Flags of an expiry entry with its CRC. */
const EXPIRY_VALUE_BYTES = 5;

type KeyRun = (found: Found, live: Header) => Reply;

/** OBJECT ENCODING key */
function runEncoding(found: Found, live: Header): Reply {
  return bulk(encodingOf(found, live));
}

/** The name of Redis's representation of such a value. */
export function encodingOf(found: Found, live: Header): string {
  switch (live.type) {
    case 'string':
      return stringEncoding(live);
    case 'hash':
      return encodingOfHash(collectionOf(found, live, 'hash'));
    case 'list':
      return encodingOfList(collectionOf(found, live, 'list'));
    case 'zset':
      return encodingOfZset(collectionOf(found, live, 'zset'));
    case 'set':
      return encodingOfSet(collectionOf(found, live, 'set'));
    case 'stream':
      return 'stream';
    // as Redis says of what modules keep
    case 'json':
      return 'raw';
    default:
      return live.type;
  }
}

function stringEncoding({ body, origin }: Header): string {
  if (origin === 'edited') return 'raw';
  if (origin === 'set' && parseInteger(body) !== undefined) return 'int';
  return body.length <= EMBEDDED_BYTES_MAX ? 'embstr' : 'raw';
}

/** OBJECT REFCOUNT key */
function runRefCount(_found: Found, live: Header): Reply {
  const isPlain = live.type === 'string' && live.origin === 'set';
  const number = isPlain ? parseInteger(live.body) : undefined;
  const shared = number !== undefined && number >= 0 && number < SHARED_INTEGERS;
  return integer(shared ? SHARED_REFERENCES : 1);
}

/** OBJECT IDLETIME key: accesses are not recorded, so every key was touched just now. */
function runIdleTime(): Reply {
  return integer(0);
}

/** OBJECT FREQ key */
function runFreq(): Reply {
  return error(
    'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that ' +
      'when switching between policies at runtime LRU and LFU data will take some time to adjust.',
  );
}

interface UsageRequest {
  readonly key: Buffer;
  /** Elements that the estimate looks at; 0: all. */
  readonly samples: number;
}

/** MEMORY USAGE key [SAMPLES count]: bytes of its records as the engine stores them. */
function parseUsage(args: readonly Buffer[]): UsageRequest {
  let samples = SAMPLES;
  for (let at = 3; at < args.length; at += 2) {
    if (word(argument(args, at)) !== 'samples' || at + 1 >= args.length) throw syntaxError();
    samples = countArgument(argument(args, at + 1));
    if (samples < 0) throw new ArgumentError(SYNTAX_ERROR);
  }
  return { key: argument(args, 2), samples };
}

function* runUsage(
  view: View,
  { key, samples }: UsageRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const found = findKey(view, key, nowMs);
  const { place, live } = found;
  if (!live) return NULL;
  const record = view.get(place)!;
  const index =
    live.deadlineMs > 0 ? encodeExpiryKey(live.deadlineMs, key).length + EXPIRY_VALUE_BYTES : 0;
  const own = place.length + record.length + CHECKSUM_BYTES + index;
  if (!isCollectionType(live.type)) return integer(own);
  return integer(own + (yield* storedBytes(collectionOf(found, live, live.type), samples)));
}

const HELP_LINES = ['HELP', '    Prints this help.'];

const OBJECT_HELP = helpForm('OBJECT', [
  'ENCODING <key>',
  '    Return the kind of internal representation used in order to store the value',
  '    associated with a <key>.',
  'FREQ <key>',
  '    Return the access frequency index of the <key>. The returned integer is',
  '    proportional to the logarithm of the recent access frequency of the key.',
  'IDLETIME <key>',
  '    Return the idle time of the <key>, that is the approximated number of',
  '    seconds elapsed since the last access to the key.',
  'REFCOUNT <key>',
  '    Return the number of references of the value associated with the specified',
  '    <key>.',
  ...HELP_LINES,
]);

const MEMORY_HELP = helpForm('MEMORY', [
  'DOCTOR',
  '    Return memory problems reports.',
  'MALLOC-STATS',
  '    Return internal statistics report from the memory allocator.',
  'PURGE',
  '    Attempt to purge dirty pages for reclamation by the allocator.',
  'STATS',
  '    Return information about the memory usage of the server.',
  'USAGE <key> [SAMPLES <count>]',
  '    Return memory in bytes used by <key> and its value. Nested values are',
  '    sampled up to <count> times (default: 5, 0 means sample all).',
  ...HELP_LINES,
]);

const objectColumn = { categories: ['keyspace'], group: 'generic' };
const memoryColumn = { categories: [], group: 'server', since: '4.0.0' };
const nodeColumn = { arity: 2, flags: [], keys: NO_KEYS } as const;

function objectRow(name: string, summary: string, since: string, run: KeyRun): Command {
  return read({
    ...objectColumn,
    name: `object|${name}`,
    arity: 3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since,
    summary,
    singlePoint: true,
    parse: (args) => argument(args, 2),
    run: (view, key, { nowMs }) => {
      const found = findKey(view, key, nowMs);
      return found.live ? run(found, found.live) : NULL;
    },
  });
}

const fixedReplies: ReadonlyMap<string, Reply> = new Map([
  ['object|help', OBJECT_HELP],
  ['memory|help', MEMORY_HELP],
  [
    'memory|doctor',
    {
      kind: 'verbatim',
      format: 'txt',
      text: 'Data lives in LevelDB, not in this process: nothing to diagnose.',
    },
  ],
  ['memory|malloc-stats', bulk('Stats not supported for the current allocator')],
  ['memory|purge', OK],
]);

function fixedRow(columns: { categories: string[]; group: string; since: string }) {
  return (name: string, summary: string): Command =>
    node({
      ...nodeColumn,
      ...columns,
      name,
      flags: name.endsWith('|help') ? ['loading', 'stale'] : [],
      summary,
      run: () => fixedReplies.get(name)!,
    });
}

const memoryRow = fixedRow(memoryColumn);
const objectFixedRow = fixedRow({ ...objectColumn, since: '6.2.0' });

const objectRows: readonly Command[] = [
  objectRow('encoding', 'Returns the internal encoding of a value.', '2.2.3', runEncoding),
  objectRow('freq', 'Returns the logarithmic access frequency counter.', '4.0.0', runFreq),
  objectRow('idletime', 'Returns the time since the last access.', '2.2.3', runIdleTime),
  objectRow('refcount', 'Returns the reference count of a value.', '2.2.3', runRefCount),
  objectFixedRow('object|help', 'Returns helpful text about the different subcommands.'),
];

const memoryRows: readonly Command[] = [
  read({
    ...memoryColumn,
    name: 'memory|usage',
    arity: -3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    summary: 'Estimates the memory usage of a key.',
    parse: parseUsage,
    run: runUsage,
  }),
  memoryRow('memory|doctor', 'Outputs a memory problems report.'),
  memoryRow('memory|malloc-stats', 'Returns the allocator statistics.'),
  memoryRow('memory|purge', 'Asks the allocator to release memory.'),
  node({
    ...nodeColumn,
    ...memoryColumn,
    name: 'memory|stats',
    summary: 'Returns where the memory of this process is.',
    run: (_args, context) => memoryStats(context),
  }),
  memoryRow('memory|help', 'Returns helpful text about the different subcommands.'),
];

/** A command that is only its subcommands: those with a fixed reply answer from `prepare`. */
function container(
  columns: Omit<ReadCommand, 'kind' | 'prepare' | 'arity' | 'flags' | 'keys' | 'subcommands'>,
  subcommands: readonly Command[],
): ReadCommand {
  const subcommandOf = (args: readonly Buffer[]) =>
    subcommands.find((row) => row.name === `${columns.name}|${word(argument(args, 1))}`);
  return {
    ...columns,
    kind: 'read',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    subcommands,
    keysOf: (args) => (subcommandOf(args)?.keys.first === 2 && args[2] ? [args[2]] : []),
    prepare(args) {
      const row = subcommandOf(args);
      const refuse = (text: string) => ({ ok: false, reply: error(text) }) as const;
      if (!row) {
        const given = argument(args, 1).toString();
        const help = `Try ${columns.name.toUpperCase()} HELP.`;
        return refuse(`ERR unknown subcommand '${given}'. ${help}`);
      }
      const enough = row.arity > 0 ? args.length === row.arity : args.length >= -row.arity;
      if (!enough) return refuse(`ERR wrong number of arguments for '${row.name}' command`);
      if (row.kind === 'read') return row.prepare(args);
      return { ok: false, reply: fixedReplies.get(row.name)! };
    },
  };
}

export const objectCommands: readonly Command[] = [
  container(
    {
      ...objectColumn,
      name: 'object',
      categories: [],
      since: '2.2.3',
      summary: 'A container for object introspection commands.',
    },
    objectRows,
  ),
  container(
    { ...memoryColumn, name: 'memory', summary: 'A container for memory diagnostics commands.' },
    memoryRows,
  ),
];
