/**
 * EVAL, EVALSHA, their forms that only read, and SCRIPT (redis.io, Scripting with Lua; docs/scripts.md). A
 * script is one line of an entry, carried out by every replica.
 */
import { limits } from '../../../common/limits.ts';
import { flushScripts, hasScript, keepScript } from '../../encoding/scripts/kept-scripts.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, SYNTAX_ERROR, word } from '../rows/args.ts';
import { ArgumentError, type Command, NO_KEYS, node, read, write } from '../rows/command.ts';
import { helpRow } from '../rows/help.ts';
import { compileScript } from './compiled.ts';
import { evalOf, evalReadOnlyOf, evalShaOf, evalShaReadOnlyOf } from './eval.ts';
import type { Resolve } from './inner-command.ts';
import { parseBody, parseCall, parseEval, scriptKeys, shaGiven, shaOfBody } from './script-args.ts';

const NO_ROOM = error(
  `ERR the scripts that are loaded have no room for another one (${limits.scriptsBytesMax} bytes for all of ` +
    'them): remove them by SCRIPT FLUSH',
);
const DEBUG_MODES = ['yes', 'sync', 'no'];

function runLoad(view: WriteView, body: Buffer): Reply {
  const compiled = compileScript(body);
  if (!compiled.ok) return error(compiled.message);
  const { sha } = compiled.script;
  return keepScript(view, sha, body, 'loaded') ? bulk(sha) : NO_ROOM;
}

function* runFlush(view: WriteView): Slices<Reply> {
  yield* flushScripts(view);
  return OK;
}

function parseFlush(args: readonly Buffer[]): undefined {
  const mode = args[2] === undefined ? 'sync' : word(args[2]);
  if (args.length <= 3 && (mode === 'sync' || mode === 'async')) return undefined;
  throw new ArgumentError('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
}

function runDebug(args: readonly Buffer[]): Reply {
  const mode = word(argument(args, 2));
  if (mode === 'no') return OK;
  if (!DEBUG_MODES.includes(mode)) return error('ERR Use SCRIPT DEBUG YES/SYNC/NO');
  return error('ERR scripts cannot be debugged here: SCRIPT DEBUG knows NO alone');
}

const column = {
  categories: ['scripting'],
  group: 'scripting',
  keys: NO_KEYS,
  appliesFrom: () => applyVersions.scripts,
};
const subcommand = { ...column, flags: ['noscript'], since: '2.6.0' } as const;

const scriptRows: readonly Command[] = [
  write({
    ...subcommand,
    name: 'script|load',
    arity: 3,
    flags: ['noscript', 'stale'],
    fanOut: { over: 'partitions', merge: 'any' },
    summary: 'Keeps a script, so that EVALSHA finds it.',
    parse: (args) => parseBody(argument(args, 2)),
    run: runLoad,
  }),
  read({
    ...subcommand,
    name: 'script|exists',
    arity: -3,
    fanOut: { over: 'partitions', merge: 'every' },
    summary: 'Tells which scripts are kept.',
    parse: (args) => args.slice(2).map((sha) => sha.toString('latin1').toLowerCase()),
    run: (view, shas) => array(shas.map((sha) => integer(hasScript(view, sha) ? 1 : 0))),
  }),
  write({
    ...subcommand,
    name: 'script|flush',
    arity: -2,
    fanOut: { over: 'partitions', merge: 'ok' },
    summary: 'Removes all scripts that are kept.',
    parse: parseFlush,
    run: runFlush,
  }),
  node({
    ...subcommand,
    name: 'script|kill',
    arity: 2,
    flags: ['noscript', 'allow_busy'],
    summary: 'Ends nothing: a script ends by itself.',
    run: () => error('NOTBUSY No scripts in execution right now.'),
  }),
  node({
    ...subcommand,
    name: 'script|debug',
    arity: 3,
    since: '3.2.0',
    summary: 'Takes NO alone: scripts cannot be debugged.',
    run: runDebug,
  }),
  helpRow('script', { ...subcommand, since: '5.0.0' }, () => scriptRows),
];

export function scriptCommands(resolve: Resolve): readonly Command[] {
  const evaluation = { ...column, arity: -3, keysOf: scriptKeys, runsAnything: true };
  const byBody = { ...evaluation, placedBy: shaOfBody };
  const bySha = { ...evaluation, placedBy: shaGiven };
  const flags = ['noscript', 'stale', 'skip_monitor', 'no_mandatory_keys', 'movablekeys'] as const;
  const readFlags = ['readonly', ...flags] as const;
  return [
    write({
      ...byBody,
      name: 'eval',
      flags,
      since: '2.6.0',
      summary: 'Runs a script.',
      parse: parseEval,
      run: evalOf(resolve),
    }),
    write({
      ...bySha,
      name: 'evalsha',
      flags,
      since: '2.6.0',
      summary: 'Runs a script that is kept.',
      parse: parseCall,
      run: evalShaOf(resolve),
    }),
    read({
      ...byBody,
      name: 'eval_ro',
      flags: readFlags,
      since: '7.0.0',
      summary: 'Runs a script that only reads.',
      parse: parseEval,
      run: evalReadOnlyOf(resolve),
    }),
    read({
      ...bySha,
      name: 'evalsha_ro',
      flags: readFlags,
      since: '7.0.0',
      summary: 'Runs a script that is kept and only reads.',
      parse: parseCall,
      run: evalShaReadOnlyOf(resolve),
    }),
    node({
      ...column,
      name: 'script',
      categories: [],
      arity: -2,
      flags: [],
      since: '2.6.0',
      summary: 'A container for commands about scripts that are kept.',
      subcommands: scriptRows,
      run: () => error(SYNTAX_ERROR),
    }),
  ];
}
