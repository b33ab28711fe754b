/**
 * FUNCTION, FCALL and FCALL_RO (redis.io, Redis functions; docs/scripts.md). All partitions of a namespace keep
 * its libraries; a call is one line of an entry, carried out by every replica, as a script is.
 */

import { limits } from '../../../common/limits.ts';
import { error, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, SYNTAX_ERROR, shownText, word } from '../rows/args.ts';
import { ArgumentError, type Command, NO_KEYS, node, read, write } from '../rows/command.ts';
import { helpRow } from '../rows/help.ts';
import type { Resolve } from '../scripts/inner-command.ts';
import { scriptKeys } from '../scripts/script-args.ts';
import { callOf, callReadOnlyOf, parseFunctionCall } from './function-call.ts';
import {
  type LoadRequest,
  type RestorePolicy,
  type RestoreRequest,
  runDelete,
  runFlush,
  runLoad,
  runRestore,
  TOO_MANY_BYTES,
} from './library-changes.ts';
import { parseList, runDump, runList, runStats } from './library-list.ts';
import { parseMetadata } from './library-metadata.ts';

type Line = readonly Buffer[];

function parseLoad(args: Line): LoadRequest {
  const options = args.slice(2, -1);
  const unknown = options.find((option) => word(option) !== 'replace');
  if (unknown !== undefined) {
    throw new ArgumentError(`ERR Unknown option given: ${shownText(unknown)}`);
  }
  const code = argument(args, args.length - 1);
  if (code.length > limits.scriptBytesMax) throw new ArgumentError(TOO_MANY_BYTES);
  const metadata = parseMetadata(code);
  if (!metadata.ok) throw new ArgumentError(metadata.message);
  return { code, name: metadata.name, replace: options.length > 0 };
}

function parseFlush(args: Line): undefined {
  checkLength(args, 3);
  const mode = args[2] === undefined ? 'sync' : word(args[2]);
  if (mode === 'sync' || mode === 'async') return undefined;
  throw new ArgumentError('ERR FUNCTION FLUSH only supports SYNC|ASYNC option');
}

function parseRestore(args: Line): RestoreRequest {
  checkLength(args, 4);
  const policy = args[3] === undefined ? 'append' : word(args[3]);
  if (!isPolicy(policy)) {
    throw new ArgumentError(
      'ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.',
    );
  }
  return { payload: argument(args, 2), policy };
}

function isPolicy(text: string): text is RestorePolicy {
  return text === 'flush' || text === 'append' || text === 'replace';
}

function checkLength(args: Line, most: number): void {
  if (args.length <= most) return;
  throw new ArgumentError(
    `ERR unknown subcommand or wrong number of arguments for '${shownText(args[1]!)}'. ` +
      'Try FUNCTION HELP.',
  );
}

const column = {
  categories: ['scripting'],
  group: 'scripting',
  keys: NO_KEYS,
  since: '7.0.0',
  appliesFrom: () => applyVersions.functions,
};
const changing = { ...column, fanOut: { over: 'partitions', merge: 'settled' } } as const;
const telling = {
  ...column,
  flags: ['noscript'],
  fanOut: { over: 'partitions', merge: 'one' },
} as const;

const functionRows: readonly Command[] = [
  write({
    ...changing,
    name: 'function|load',
    arity: -3,
    flags: ['write', 'denyoom', 'noscript'],
    summary: 'Keeps a library, whose functions FCALL calls.',
    parse: parseLoad,
    run: runLoad,
  }),
  write({
    ...changing,
    name: 'function|delete',
    arity: 3,
    flags: ['write', 'noscript'],
    summary: 'Removes a library with its functions.',
    parse: (args) => argument(args, 2).toString('latin1'),
    run: runDelete,
  }),
  write({
    ...changing,
    name: 'function|flush',
    arity: -2,
    flags: ['write', 'noscript'],
    summary: 'Removes all libraries.',
    parse: parseFlush,
    run: runFlush,
  }),
  write({
    ...changing,
    name: 'function|restore',
    arity: -3,
    flags: ['write', 'denyoom', 'noscript'],
    summary: 'Keeps libraries that FUNCTION DUMP returned, here or in Redis.',
    parse: parseRestore,
    run: runRestore,
  }),
  read({
    ...telling,
    name: 'function|list',
    arity: -2,
    summary: 'Lists the libraries and their functions.',
    parse: parseList,
    run: runList,
  }),
  read({
    ...telling,
    name: 'function|dump',
    arity: 2,
    summary: 'Returns all libraries as Redis serializes them.',
    parse: () => undefined,
    run: runDump,
  }),
  read({
    ...telling,
    name: 'function|stats',
    arity: 2,
    flags: ['noscript', 'allow_busy'],
    summary: 'Counts libraries and functions.',
    parse: () => undefined,
    run: runStats,
  }),
  node({
    ...column,
    name: 'function|kill',
    arity: 2,
    flags: ['noscript', 'allow_busy'],
    summary: 'Ends nothing: a function ends by itself.',
    run: () => error('NOTBUSY No scripts in execution right now.'),
  }),
  helpRow('function', column, () => functionRows),
];

/** A call without keys runs where the name of its function would lie as one: all partitions have it. */
const nameGiven = (line: Line): Buffer => argument(line, 1);

export function functionCommands(resolve: Resolve): readonly Command[] {
  const call = {
    ...column,
    arity: -3,
    keysOf: scriptKeys,
    placedBy: nameGiven,
    runsAnything: true,
    parse: parseFunctionCall,
  };
  const flags = ['noscript', 'stale', 'skip_monitor', 'no_mandatory_keys', 'movablekeys'] as const;
  return [
    write({ ...call, name: 'fcall', flags, summary: 'Calls a function.', run: callOf(resolve) }),
    read({
      ...call,
      name: 'fcall_ro',
      flags: ['readonly', ...flags],
      summary: 'Calls a function that only reads.',
      run: callReadOnlyOf(resolve),
    }),
    node({
      ...column,
      name: 'function',
      categories: [],
      arity: -2,
      flags: [],
      summary: 'A container for commands about libraries of functions.',
      subcommands: functionRows,
      run: (): Reply => error(SYNTAX_ERROR),
    }),
  ];
}
