/** COMMAND: the table as clients and redis-cli read it (redis.io COMMAND, COMMAND DOCS). */
import { array, bulk, error, integer, NULL, type Reply } from '../../resp/reply.ts';
import { argument, SYNTAX_ERROR, word } from '../rows/args.ts';
import {
  type Command,
  type CommandFlag,
  keysOf,
  NO_KEYS,
  type NodeCommand,
  node,
} from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import { matchesGlob, parseGlob, patternRefusal } from '../texts/glob.ts';
import { type Argument, parseSyntax } from './command-arguments.ts';
import { syntaxByName } from './command-syntax.ts';
import { tipsOf } from './command-tips.ts';
import { type KeySpec, type KeyUse, keySpecsOf, keyUses } from './key-specs.ts';
import { TableRows } from './table-rows.ts';

type Run = NodeCommand['run'];
export type Table = () => ReadonlyMap<string, Command>;

/** ACL categories that a flag brings with it. */
const impliedCategories: Readonly<Partial<Record<CommandFlag, readonly string[]>>> = {
  write: ['write'],
  readonly: ['read'],
  admin: ['admin', 'dangerous'],
  pubsub: ['pubsub'],
  fast: ['fast'],
  blocking: ['blocking'],
};

/** All there are, in Redis's order. */
export const aclCategories: readonly string[] = [
  'keyspace',
  'read',
  'write',
  'set',
  'sortedset',
  'list',
  'hash',
  'string',
  'bitmap',
  'hyperloglog',
  'geo',
  'stream',
  'pubsub',
  'admin',
  'fast',
  'slow',
  'blocking',
  'dangerous',
  'connection',
  'transaction',
  'scripting',
];

export function categoriesOf({ flags, categories }: Command): string[] {
  // as in Redis: of scripts it is not said that they read
  const isScript = categories.includes('scripting');
  const implied = isScript ? flags.filter((flag) => flag !== 'readonly') : flags;
  const found = new Set<string>(implied.flatMap((flag) => impliedCategories[flag] ?? []));
  for (const category of categories) found.add(category);
  if (!found.has('fast')) found.add('slow');
  return aclCategories.filter((category) => found.has(category));
}

function status(text: string): Reply {
  return { kind: 'simple', text };
}

function entry(command: Command): Reply {
  const { name, arity, flags, keys, subcommands = [] } = command;
  return array([
    bulk(name),
    integer(arity),
    { kind: 'set', items: flags.map(status) },
    integer(keys.first),
    integer(keys.last),
    integer(keys.step),
    { kind: 'set', items: categoriesOf(command).map((category) => status(`@${category}`)) },
    { kind: 'set', items: tipsOf(command).map(bulk) },
    { kind: 'set', items: keySpecsOf(command).map(keySpec) },
    { kind: 'set', items: subcommands.map(entry) },
  ]);
}

function keySpec({ flags, begin, find }: KeySpec): Reply {
  return map({
    flags: { kind: 'set', items: flags.map(status) },
    begin_search: map({ type: bulk(begin.type), spec: beginFields(begin) }),
    find_keys: map({ type: bulk(find.type), spec: findFields(find) }),
  });
}

function beginFields(begin: KeySpec['begin']): Reply {
  if (begin.type === 'index') return map({ index: integer(begin.index) });
  if (begin.type === 'unknown') return map({});
  return map({ keyword: bulk(begin.keyword), startfrom: integer(begin.from) });
}

function findFields(find: KeySpec['find']): Reply {
  if (find.type === 'unknown') return map({});
  const { step } = find;
  return find.type === 'range'
    ? map({ lastkey: integer(find.last), keystep: integer(step), limit: integer(find.limit) })
    : map({ keynumidx: integer(find.at), firstkey: integer(find.first), keystep: integer(step) });
}

function map(fields: Readonly<Record<string, Reply>>): Reply {
  return {
    kind: 'map',
    pairs: Object.entries(fields).map(([name, value]) => [bulk(name), value] as const),
  };
}

function docs(command: Command): Reply {
  const { summary, since, group, subcommands } = command;
  return map({
    summary: bulk(summary),
    since: bulk(since),
    group: bulk(group),
    ...argumentFields(argumentsOf(command), keyNumbers(command)),
    ...(subcommands && { subcommands: docsOf(subcommands) }),
  });
}

function argumentsOf(command: Command): readonly Argument[] {
  const line = syntaxByName.get(command.name);
  return line === undefined ? [] : parseSyntax(line);
}

/** Which key specification each next argument that is a key belongs to. */
type KeyNumbers = () => number;

/** Keys come in the order of their specifications; some of these are of keys that no argument is. */
function keyNumbers(command: Command): KeyNumbers {
  const specs = keySpecsOf(command).length;
  const unnamed = specs - countKeys(argumentsOf(command));
  let next = 0;
  return () => {
    const number = next === 0 ? 0 : next + unnamed;
    next++;
    return Math.max(0, Math.min(number, specs - 1));
  };
}

function countKeys(list: readonly Argument[]): number {
  return list.reduce((sum, { type, parts }) => sum + (type === 'key' ? 1 : countKeys(parts)), 0);
}

function argumentFields(list: readonly Argument[], keys: KeyNumbers): Record<string, Reply> {
  if (list.length === 0) return {};
  return { arguments: array(list.map((one) => map(fieldsOf(one, keys)))) };
}

const holders: readonly string[] = ['pure-token', 'oneof', 'block'];

function fieldsOf(argument: Argument, keys: KeyNumbers): Record<string, Reply> {
  const { name, type, token, optional, multiple, tokenRepeats, parts } = argument;
  const flags = [
    ...(optional ? ['optional'] : []),
    ...(multiple ? ['multiple'] : []),
    ...(tokenRepeats ? ['multiple_token'] : []),
  ];
  return {
    name: bulk(name),
    type: bulk(type),
    ...(holders.includes(type) ? {} : { display_text: bulk(name) }),
    ...(type === 'key' ? { key_spec_index: integer(keys()) } : {}),
    ...(token === undefined ? {} : { token: bulk(token) }),
    ...(flags.length === 0 ? {} : { flags: { kind: 'set', items: flags.map(status) } }),
    ...argumentFields(parts, keys),
  };
}

function docsOf(commands: readonly Command[]): Reply {
  return { kind: 'map', pairs: commands.map(namedDocs) };
}

function namedDocs(command: Command): readonly [Reply, Reply] {
  return [bulk(command.name), docs(command)];
}

/** A row by name; subcommands as `config|get`. */
function find(table: Table, name: Buffer): Command | undefined {
  const text = word(name);
  const [container, subcommand] = text.split('|');
  const command = table().get(container ?? '');
  if (subcommand === undefined) return command;
  return command?.subcommands?.find((row) => row.name === text);
}

/** COMMAND INFO and DOCS [name ...] */
function rowsRun(table: Table, rows: TableRows): Run {
  return (args, context) =>
    args.length === 2
      ? rows.all(table(), context)
      : rows.of(args.slice(2).map((name) => find(table, name)));
}

/** COMMAND LIST [FILTERBY MODULE m | ACLCAT c | PATTERN p] */
function listRun(table: Table): Run {
  return (args) => {
    const commands = [...table().values()];
    const all = commands.flatMap((command) => [command, ...(command.subcommands ?? [])]);
    if (args.length === 2) return array(all.map(({ name }) => bulk(name)));
    if (args.length !== 5 || word(argument(args, 2)) !== 'filterby') return error(SYNTAX_ERROR);
    const value = argument(args, 4);
    switch (word(argument(args, 3))) {
      case 'module':
        return array([]);
      case 'aclcat': {
        const category = word(value);
        const found = all.filter((command) => categoriesOf(command).includes(category));
        return array(found.map(({ name }) => bulk(name)));
      }
      case 'pattern': {
        const refusal = patternRefusal(value);
        if (refusal !== undefined) return error(refusal);
        const glob = parseGlob(Buffer.from(word(value)));
        const found = all.filter(({ name }) => matchesGlob(glob, Buffer.from(name)));
        return array(found.map(({ name }) => bulk(name)));
      }
      default:
        return error(SYNTAX_ERROR);
    }
  };
}

/** COMMAND GETKEYS and GETKEYSANDFLAGS: `show` makes the reply of one key. */
function keysRun(table: Table, show: (use: KeyUse) => Reply): Run {
  return (args) => {
    const line = args.slice(2);
    const command = commandOf(table, line);
    if (command === undefined) return error('ERR Invalid command specified');
    if (!hasKeys(command)) {
      return error('ERR The command has no key arguments');
    }
    if (command.arity > 0 ? line.length !== command.arity : line.length < -command.arity) {
      return error('ERR Invalid number of arguments specified for command');
    }
    const uses = keyUses(command, line, keysOf(command, line));
    if (uses.length === 0 && !command.flags.includes('no_mandatory_keys')) {
      return error('ERR Invalid arguments specified for command');
    }
    return array(uses.map(show));
  };
}

/** What would run: of a container its subcommand, which there must be. */
function commandOf(table: Table, line: readonly Buffer[]): Command | undefined {
  const command = find(table, argument(line, 0));
  const [, subcommand] = line;
  if (command?.subcommands === undefined || subcommand === undefined) return command;
  return command.subcommands.find(({ name }) => name === `${command.name}|${word(subcommand)}`);
}

function hasKeys(command: Command): boolean {
  if (command.keysOf !== undefined) return true;
  return keySpecsOf(command).some(({ flags }) => !flags.includes('not_key'));
}

const keyAlone = ({ key }: KeyUse): Reply => bulk(key);

const keyAndFlags = ({ key, flags }: KeyUse): Reply =>
  array([bulk(key), { kind: 'set', items: flags.map(status) }]);

/** The rows of COMMAND over a table that is complete only later. */
export function commandCommands(table: Table): readonly Command[] {
  const sub = (name: string, arity: number, summary: string, run: Run) =>
    node({
      name: `command|${name}`,
      arity,
      flags: ['loading', 'stale'],
      keys: NO_KEYS,
      categories: ['connection'],
      group: 'server',
      since: '2.8.13',
      summary,
      run,
    });
  const entries = new TableRows('array', (command) => [entry(command)]);
  const subcommands: readonly NodeCommand[] = [
    sub('count', 2, 'Returns the number of commands.', () => integer(table().size)),
    sub(
      'docs',
      -2,
      'Returns documentation of commands.',
      rowsRun(table, new TableRows('map', namedDocs)),
    ),
    sub('info', -2, 'Returns what clients need to know of commands.', rowsRun(table, entries)),
    sub('list', -2, 'Returns the names of commands.', listRun(table)),
    sub('getkeys', -3, 'Returns the keys of a command.', keysRun(table, keyAlone)),
    sub('getkeysandflags', -3, 'Returns the keys of a command.', keysRun(table, keyAndFlags)),
    sub('help', 2, 'Lists the subcommands.', () => helpReply('command', subcommands)),
  ];
  return [
    node({
      name: 'command',
      arity: -1,
      flags: ['loading', 'stale'],
      keys: NO_KEYS,
      categories: ['connection', 'slow'],
      group: 'server',
      since: '2.8.13',
      summary: 'Returns information about all commands.',
      subcommands,
      run: (args, context) =>
        args.length === 1 ? entries.all(table(), context) : (NULL satisfies Reply),
    }),
  ];
}
