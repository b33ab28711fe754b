/** CONFIG: what Redis tools ask, and the settings of this node. */
import { array, bulk, error, OK, type Reply } from '../resp/reply.ts';
import { argument, SYNTAX_ERROR } from './args.ts';
import { type Command, NO_KEYS, type NodeCommand, node } from './command.ts';
import { type ConfigRow, configTable, parseSetting } from './config-table.ts';
import { matchesGlob, parseGlob } from './glob.ts';
import { helpReply } from './help.ts';
import type { NodeContext } from './node-context.ts';

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

/** CONFIG GET pattern [pattern ...] */
const get: Run = (args, context) => {
  const globs = args
    .slice(2)
    .map((pattern) => parseGlob(Buffer.from(pattern.toString('latin1').toLowerCase(), 'latin1')));
  const found = [...configTable.values()].filter(({ name }) =>
    globs.some((glob) => matchesGlob(glob, Buffer.from(name))),
  );
  const own = context.settings();
  const pairs = found.map((row) => [bulk(row.name), bulk(shownValue(row, context, own))] as const);
  return { kind: 'map', pairs };
};

/** CONFIG SET name value [name value ...]: all of them, or none. */
const set: Run = async (args, context) => {
  if (args.length % 2 !== 0) return error(SYNTAX_ERROR);
  const own = context.settings();
  const changes = new Map<string, number | undefined>();
  let password: string | undefined;
  let refused: Reply | undefined;
  for (let at = 2; at < args.length; at += 2) {
    const name = argument(args, at).toString('latin1').toLowerCase();
    const row = configTable.get(name);
    if (row === undefined) {
      const shown = argument(args, at).toString('utf8', 0, NAME_SHOWN_MAX);
      return error(`ERR Unknown option or number of arguments for CONFIG SET - '${shown}'`);
    }
    const text = argument(args, at + 1).toString('utf8');
    if (row.kind === 'secret') password = argument(args, at + 1).toString('latin1');
    const isSame =
      row.kind === 'secret' || (row.kind === 'shown' && text === shownValue(row, context, own));
    const value = row.kind === 'setting' ? parseSetting(row, text) : isSame ? undefined : IMMUTABLE;
    const problem = changes.has(name) ? 'duplicate parameter' : value;
    if (typeof problem === 'string') refused ??= failed(name, problem);
    else changes.set(name, problem);
  }
  if (refused !== undefined) return refused;
  const rules = password === '' ? ['nopass'] : ['resetpass', `>${password}`];
  const problem = password === undefined ? undefined : await context.acl.setUser('default', rules);
  if (problem !== undefined) return error(problem);
  for (const [name, value] of changes) if (value !== undefined) context.setSetting(name, value);
  return OK;
};

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
  sub('set', -4, 'Sets settings of this process until it restarts.', set),
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
  node({
    name: 'module',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    categories: ['slow'],
    group: 'server',
    since: '4.0.0',
    summary: 'A container for module commands.',
    subcommands: [
      node({
        name: 'module|list',
        arity: 2,
        flags: ['admin', 'noscript'],
        keys: NO_KEYS,
        categories: [],
        group: 'server',
        since: '4.0.0',
        summary: 'Returns no modules.',
        run: () => array([]),
      }),
    ],
    run: () => error(SYNTAX_ERROR),
  }),
];
