/** ACL: users, what they may, and what they were refused. */
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, bulk, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { aclCategories, categoriesOf } from '../docs/command-docs.ts';
import { argument, NOT_AN_INTEGER, word } from '../rows/args.ts';
import type { Command, CommandFlag } from '../rows/command.ts';
import { container, type Run, wrongShape } from '../rows/server-row.ts';
import type { AclLogEntry, SelectorView } from './acl-view.ts';

export type Table = () => ReadonlyMap<string, Command>;

const text = (arg: Buffer) => arg.toString('latin1');
const bytes = (latin1: string) => bulk(Buffer.from(latin1, 'latin1'));
const SHOWN_MAX = 128;

function map(fields: Readonly<Record<string, Reply>>): Reply {
  return {
    kind: 'map',
    pairs: Object.entries(fields).map(([name, value]) => [bulk(name), value] as const),
  };
}

/** ACL SETUSER name [rule ...] */
const setUser: Run = async (args, { acl, session }) => {
  const problem = await acl.setUser(text(argument(args, 2)), args.slice(3).map(text), session);
  return problem === undefined ? OK : error(problem);
};

/** ACL DELUSER name [name ...] */
const delUser: Run = async (args, { acl, session }) => {
  const deleted = await acl.deleteUsers(args.slice(2).map(text), session);
  return typeof deleted === 'string' ? error(deleted) : integer(deleted);
};

/** ACL GETUSER name */
const getUser: Run = (args, { acl }) => {
  const user = acl.user(text(argument(args, 2)));
  if (user === undefined) return NULL;
  const { flags, passwords, selectors, namespace } = user;
  return map({
    flags: { kind: 'set', items: flags.map(bytes) },
    passwords: array(passwords.map(bytes)),
    ...selectorFields(user),
    selectors: array(selectors.map((selector) => map(selectorFields(selector)))),
    // behind what Redis has: some clients read the reply by position
    ...(namespace === undefined ? {} : { namespace: bytes(namespace) }),
  });
};

function selectorFields({ commands, keys, channels }: SelectorView): Record<string, Reply> {
  return { commands: bytes(commands), keys: bytes(keys), channels: bytes(channels) };
}

/** ACL CAT [category] */
function catRun(table: Table): Run {
  return (args) => {
    if (args.length > 3) return wrongShape(args);
    if (args[2] === undefined) return array(aclCategories.map((name) => bulk(name)));
    const category = word(args[2]);
    if (!aclCategories.includes(category)) {
      return error(`ERR Unknown category '${args[2].toString('utf8', 0, SHOWN_MAX)}'`);
    }
    const rows = [...table().values()].flatMap((row) => [row, ...(row.subcommands ?? [])]);
    const found = rows.filter((row) => categoriesOf(row).includes(category));
    return array(found.map(({ name }) => bulk(name)));
  };
}

/** ACL DRYRUN user command [argument ...] */
function dryRun(table: Table): Run {
  return (args, { acl }) => {
    const name = text(argument(args, 2));
    if (!acl.hasUser(name)) {
      return error(`ERR User '${argument(args, 2).toString('utf8', 0, SHOWN_MAX)}' not found`);
    }
    const line = args.slice(3);
    const found = table().get(word(argument(line, 0)));
    const sub =
      line[1] && found?.subcommands?.find((row) => row.name === `${found.name}|${word(line[1]!)}`);
    const command = sub ?? found;
    if (command === undefined || (command.subcommands !== undefined && line.length > 1)) {
      return error(`ERR Command '${argument(line, 0).toString('utf8', 0, SHOWN_MAX)}' not found`);
    }
    const { arity } = command;
    if (arity > 0 ? line.length !== arity : line.length < -arity) {
      return error(`ERR wrong number of arguments for '${command.name}' command`);
    }
    const denied = acl.dryRun(name, line);
    return denied === undefined ? OK : bytes(denied);
  };
}

const LOG_COUNT = 10;

/** ACL LOG [count | RESET] */
const log: Run = (args, { acl, nowMs }) => {
  if (args.length > 3) return wrongShape(args);
  if (args[2] !== undefined && word(args[2]) === 'reset') {
    acl.resetLog();
    return OK;
  }
  const count = args[2] === undefined ? LOG_COUNT : parseInteger(args[2]);
  if (count === undefined) return error(NOT_AN_INTEGER);
  return array(acl.log(Math.max(0, Number(count))).map((entry) => logEntry(entry, nowMs)));
};

function logEntry(entry: AclLogEntry, nowMs: number): Reply {
  const ageSeconds = Math.max(0, nowMs - entry.createdMs) / 1_000;
  return map({
    count: integer(entry.count),
    reason: bulk(entry.reason),
    context: bulk(entry.context),
    object: bytes(entry.object),
    username: bytes(entry.user),
    'age-seconds': { kind: 'double', value: ageSeconds },
    'client-info': bytes(entry.client),
    'entry-id': integer(entry.id),
    'timestamp-created': integer(entry.createdMs),
    'timestamp-last-updated': integer(entry.updatedMs),
  });
}

const SECRET_BITS_MAX = 4_096;

/** ACL GENPASS [bits]: hex digits, four bits each. */
const genPass: Run = (args, { acl }) => {
  if (args.length > 3) return wrongShape(args);
  const bits = args[2] === undefined ? 256 : parseInteger(args[2]);
  if (bits === undefined) return error(NOT_AN_INTEGER);
  if (bits <= 0 || bits > SECRET_BITS_MAX) {
    return error(
      'ERR ACL GENPASS argument must be the number of bits for the output password, a positive ' +
        `number up to ${SECRET_BITS_MAX}`,
    );
  }
  return bulk(acl.secret(Math.ceil(Number(bits) / 4)));
};

const noFile: Run = () =>
  error(
    'ERR This Redis instance is not configured to use an ACL file. You may want to specify users ' +
      'via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis ' +
      'configuration file set) in order to store users in the Redis configuration.',
  );

const admin: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale'];
const plain: readonly CommandFlag[] = ['noscript', 'loading', 'stale'];
/** What everybody may ask; the rest is administration. */
const forAll = new Set(['acl|cat', 'acl|genpass', 'acl|whoami']);

/** The rows of ACL over a table that is complete only later. */
export function aclCommands(table: Table): readonly Command[] {
  const acl = container('acl', '6.0.0', 'A container for commands about users.', admin, [
    ['cat', -2, '6.0.0', 'Lists categories, or the commands of one.', catRun(table)],
    ['deluser', -3, '6.0.0', 'Deletes users and closes their connections.', delUser],
    ['dryrun', -4, '7.0.0', 'Tells whether a user may run a command.', dryRun(table)],
    ['genpass', -2, '6.0.0', 'Draws a password.', genPass],
    ['getuser', 3, '6.0.0', 'Tells what a user may.', getUser],
    [
      'list',
      2,
      '6.0.0',
      'Lists users with their rules.',
      (_args, c) => array(c.acl.list().map(bytes)),
    ],
    ['load', 2, '6.0.0', 'Refused: users are in the metadata store.', noFile],
    ['log', -2, '6.0.0', 'Lists what users were refused.', log],
    ['save', 2, '6.0.0', 'Refused: users are in the metadata store.', noFile],
    ['setuser', -3, '6.0.0', 'Makes a user, or changes what it may.', setUser],
    [
      'users',
      2,
      '6.0.0',
      'Lists the names of users.',
      (_args, c) => array(c.acl.userNames().map(bytes)),
    ],
    ['whoami', 2, '6.0.0', 'Returns who this connection is.', (_args, c) => bytes(c.session.user)],
  ]);
  const subcommands = acl.subcommands?.map((row) =>
    forAll.has(row.name) ? { ...row, flags: plain } : row,
  );
  return [{ ...acl, subcommands: subcommands ?? [] }];
}
