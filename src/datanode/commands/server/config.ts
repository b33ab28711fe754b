/** CONFIG: what Redis tools ask, and the settings of this node. */
import { limits } from '../../../common/limits.ts';
import { array, bulk, error, OK, type Reply } from '../../resp/reply.ts';
import { argument, SYNTAX_ERROR } from '../rows/args.ts';
import { type Command, NO_KEYS, type NodeCommand, node } from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import type { NodeContext } from '../rows/node-context.ts';
import { container } from '../rows/server-row.ts';
import { matchesGlob, parseGlob, patternRefusal } from '../texts/glob.ts';
import { type ConfigRow, configTable, parseSetting, protectedNames } from './config-table.ts';

type Run = NodeCommand['run'];

function shownValue(
  row: ConfigRow,
  { session }: NodeContext,
  own: ReadonlyMap<string, string>,
): string {
  const known = row.kind === 'shown' ? row.value : undefined;
  if (typeof known === 'string') return known;
  return known === undefined ? (own.get(row.name) ?? '') : known(session);
}

/**
 * The name under which a parameter is told, if `pattern` means it: its own, or, where it is asked for
 * by the whole name, that as it was spelled. A client looks for it under what it asked.
 */
function namesBy(pattern: string): (name: string) => string | undefined {
  const lower = pattern.toLowerCase();
  if (!/[[*?]/.test(pattern)) return (name) => (name === lower ? pattern : undefined);
  const glob = parseGlob(Buffer.from(lower, 'latin1'));
  return (name) => (matchesGlob(glob, Buffer.from(name)) ? name : undefined);
}

/** CONFIG GET pattern [pattern ...] */
const get: Run = (args, context) => {
  const most = limits.argumentsAtOnceMax;
  if (args.length > most) return error(`ERR too many patterns: fewer than ${most} at once`);
  for (const pattern of args.slice(2)) {
    const refusal = patternRefusal(pattern);
    if (refusal !== undefined) return error(refusal);
  }
  const patterns = args.slice(2).map((pattern) => namesBy(pattern.toString('latin1')));
  const own = context.settings();
  const pairs: [Reply, Reply][] = [];
  for (const row of configTable.values()) {
    const name = firstOf(patterns, row.name);
    if (name !== undefined) pairs.push([bulk(name), bulk(shownValue(row, context, own))]);
  }
  return { kind: 'map', pairs };
};

function firstOf(patterns: readonly ReturnType<typeof namesBy>[], name: string) {
  for (const told of patterns) {
    const found = told(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Changes {
  readonly node: Map<string, number>;
  readonly cluster: Map<string, string>;
  password: string | undefined;
}

/** CONFIG SET name value [name value ...]: all of them, or none. */
const set: Run = async (args, context) => {
  if (args.length % 2 !== 0) return error(SYNTAX_ERROR);
  const changes = changesOf(args, context);
  if ('kind' in changes) return changes;
  const { node: own, cluster, password } = changes;
  const before = new Map(context.settings());
  const refused = await setForCluster(cluster, context);
  if (refused !== undefined) return refused;
  const rules = password === '' ? ['nopass'] : ['resetpass', `>${password}`];
  const { acl, session } = context;
  const problem = password === undefined ? undefined : await acl.setUser('default', rules, session);
  if (problem !== undefined) {
    for (const name of cluster.keys()) await context.setForCluster(name, before.get(name) ?? '');
    return error(problem);
  }
  for (const [name, value] of own) context.setSetting(name, value);
  return OK;
};

/** What is to be changed; an error when something of it cannot be. */
function changesOf(args: readonly Buffer[], context: NodeContext): Changes | Reply {
  const own = context.settings();
  const changes: Changes = { node: new Map(), cluster: new Map(), password: undefined };
  const seen = new Set<string>();
  let refused: Reply | undefined;
  for (let at = 2; at < args.length; at += 2) {
    const name = argument(args, at).toString('latin1').toLowerCase();
    const row = configTable.get(name);
    if (row === undefined) return refusedName(argument(args, at));
    const problem = seen.has(name)
      ? 'duplicate parameter'
      : take(changes, row, argument(args, at + 1), context, own);
    seen.add(name);
    if (problem !== undefined) refused ??= failed(name, problem);
  }
  return refused ?? changes;
}

function refusedName(name: Buffer): Reply {
  const shown = name.toString('utf8', 0, NAME_SHOWN_MAX);
  return protectedNames.has(shown.toLowerCase())
    ? failed(shown, "can't set protected config")
    : error(`ERR Unknown option or number of arguments for CONFIG SET - '${shown}'`);
}

/** Adds one change; the text of what is wrong with it. */
function take(
  changes: Changes,
  row: ConfigRow,
  value: Buffer,
  context: NodeContext,
  own: ReadonlyMap<string, string>,
): string | undefined {
  const text = value.toString('utf8');
  switch (row.kind) {
    case 'secret':
      changes.password = value.toString('latin1');
      return undefined;
    case 'shown':
      return text === shownValue(row, context, own) ? undefined : IMMUTABLE;
    case 'cluster':
      changes.cluster.set(row.name, text);
      return row.problemOf(text);
    case 'setting': {
      const parsed = parseSetting(row, text);
      if (typeof parsed === 'string') return parsed;
      changes.node.set(row.name, parsed);
      return context.settingProblem(row.name, parsed);
    }
  }
}

async function setForCluster(
  changes: ReadonlyMap<string, string>,
  context: NodeContext,
): Promise<Reply | undefined> {
  for (const [name, value] of changes) {
    const problem = await context.setForCluster(name, value);
    if (problem !== undefined) return failed(name, problem);
  }
  return undefined;
}

const IMMUTABLE = "can't set immutable config";
const NAME_SHOWN_MAX = 128;

function failed(name: string, problem: string): Reply {
  return error(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${problem}`);
}

const rewrite: Run = (): Reply =>
  error('ERR the config file is not rewritten; edit it and restart this datanode');

function sub(name: string, arity: number, summary: string, run: Run): NodeCommand {
  return node({
    name: `config|${name}`,
    arity,
    flags: name === 'help' ? ['loading', 'stale'] : ['admin', 'noscript', 'loading', 'stale'],
    keys: NO_KEYS,
    categories: [],
    group: 'server',
    since: '2.0.0',
    summary,
    run,
  });
}

const subcommands: readonly NodeCommand[] = [
  sub('get', -3, 'Returns the effective values of settings.', get),
  sub('set', -4, 'Sets settings of this process until it restarts, or of the cluster.', set),
  sub('resetstat', 2, "Resets the server's statistics.", (_args, context) => {
    context.resetStatistics();
    return OK;
  }),
  sub('rewrite', 2, 'Refused: the config file is yours.', rewrite),
  sub('help', 2, 'Lists the subcommands.', () => helpReply('config', subcommands)),
];

/** CONFIG subcommand [argument ...] */
export const configCommands: readonly Command[] = [
  node({
    name: 'config',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    categories: ['slow'],
    group: 'server',
    since: '2.0.0',
    summary: 'A container for server configuration commands.',
    subcommands,
    run: () => error(SYNTAX_ERROR),
  }),
];

/** MODULE LIST: there are none. */
export const moduleCommands: readonly Command[] = [
  {
    ...container(
      'module',
      '4.0.0',
      'A container for module commands.',
      ['admin', 'noscript'],
      [['list', 2, '4.0.0', 'Returns no modules.', () => array([])]],
    ),
    categories: ['slow'],
  },
];
