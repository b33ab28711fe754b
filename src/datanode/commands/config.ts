/** CONFIG: what Redis tools ask, and the settings of this node. */
import { limits } from '../../common/limits.ts';
import { array, bulk, error, OK, type Reply } from '../resp/reply.ts';
import { argument, SYNTAX_ERROR } from './args.ts';
import { type Command, NO_KEYS, type NodeCommand, node } from './command.ts';
import { matchesGlob, parseGlob } from './glob.ts';
import { helpReply } from './help.ts';
import type { NodeContext } from './node-context.ts';

type Run = NodeCommand['run'];

/** Answers that clients of Redis look for; they say what is true of kvorum. */
const fixed: ReadonlyMap<string, string> = new Map([
  ['appendfsync', 'always'],
  ['appendonly', 'yes'],
  ['client-output-buffer-limit', outputLimits()],
  ['databases', '1'],
  ['maxmemory', '0'],
  ['maxmemory-policy', 'noeviction'],
  ['proto-max-bulk-len', '536870912'],
  ['save', ''],
  ['timeout', '0'],
]);

/** As Redis prints them: class, hard limit, soft limit and its seconds. */
function outputLimits(): string {
  const { connectionOutputBytesMax: all } = limits;
  const { subscriberOutputBytesMax: hard, subscriberOutputSoftBytes: soft } = limits;
  const seconds = limits.subscriberOutputSoftMs / 1_000;
  return `normal ${all} 0 0 slave 0 0 0 pubsub ${hard} ${soft} ${seconds}`;
}

function settings(context: NodeContext): ReadonlyMap<string, string> {
  return new Map([...fixed, ...context.settings()].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** CONFIG GET pattern [pattern ...] */
const get: Run = (args, context) => {
  const globs = args
    .slice(2)
    .map((pattern) => parseGlob(Buffer.from(pattern.toString('latin1').toLowerCase(), 'latin1')));
  const found = [...settings(context)].filter(([name]) =>
    globs.some((glob) => matchesGlob(glob, Buffer.from(name))),
  );
  return { kind: 'map', pairs: found.map(([name, value]) => [bulk(name), bulk(value)] as const) };
};

/** CONFIG SET name value [name value ...] */
const set: Run = async (args, context) => {
  if (args.length % 2 !== 0) return error("ERR wrong number of arguments for 'config|set' command");
  const before = new Map(context.settings());
  const known = settings(context);
  const pairs: [name: string, value: string][] = [];
  for (let at = 2; at < args.length; at += 2) {
    const name = argument(args, at).toString('latin1').toLowerCase();
    if (!known.has(name)) {
      return error(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`);
    }
    pairs.push([name, argument(args, at + 1).toString('utf8')]);
  }
  const done: string[] = [];
  for (const [name, value] of pairs) {
    if (fixed.get(name) === value) continue;
    const refusal = fixed.has(name)
      ? "can't set immutable config"
      : await context.setSetting(name, value);
    if (refusal !== undefined) {
      for (const changed of done) await context.setSetting(changed, before.get(changed)!);
      return error(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${refusal}`);
    }
    done.push(name);
  }
  return OK;
};

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
