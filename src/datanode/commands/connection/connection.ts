/** The connection's own commands: PING, ECHO, HELLO, AUTH, SELECT, QUIT, RESET, READONLY … */
import type { Namespace } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { REDIS_VERSION } from '../../../common/version.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { isSubscribed } from '../pubsub/pubsub-port.ts';
import { argument, word } from '../rows/args.ts';
import { type Command, NO_KEYS, node } from '../rows/command.ts';
import { isClusterDoor, type NodeContext, type Session } from '../rows/node-context.ts';

const PONG: Reply = { kind: 'simple', text: 'PONG' };
const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. ' +
  'Are you sure your configuration is correct?';
const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled.';

/** Names and library fields: printable ASCII without spaces, as CLIENT LIST is one line a client. */
export function isPlainName(name: Buffer): boolean {
  return name.every((byte) => byte >= 0x21 && byte <= 0x7e);
}

const BAD_NAME = 'ERR Client names cannot contain spaces, newlines or special characters.';

/** Redis has no bound but that of an argument; a node keeps what its clients call themselves. */
export function isNameTooLong({ length }: Buffer): boolean {
  return length > limits.clientNameBytesMax;
}

export function nameTooLong({ length }: Buffer): string {
  return `ERR a name of ${length} bytes is longer than ${limits.clientNameBytesMax}`;
}

/** Of a connection's name; undefined: it may be taken. */
export function nameRefusal(name: Buffer): string | undefined {
  if (isNameTooLong(name)) return nameTooLong(name);
  return isPlainName(name) ? undefined : BAD_NAME;
}

/** PING [message] */
function ping(args: readonly Buffer[], { session }: NodeContext): Reply {
  if (args.length > 2) return error("ERR wrong number of arguments for 'ping' command");
  if (session.protocol === 2 && isSubscribed(session.subscriber)) {
    return array([bulk('pong'), bulk(args[1] ?? '')]);
  }
  return args.length === 2 ? bulk(argument(args, 1)) : PONG;
}

/** HELLO [protover [AUTH username password] [SETNAME clientname]] */
function hello(args: readonly Buffer[], { session, acl }: NodeContext): Reply {
  let protocol = session.protocol;
  let name: Buffer | undefined;
  let credentials: readonly [user: Buffer, password: Buffer] | undefined;
  if (args.length > 1) {
    const version = parseInteger(argument(args, 1));
    if (version === undefined) {
      return error('ERR Protocol version is not an integer or out of range');
    }
    if (version !== 2 && version !== 3) return error('NOPROTO unsupported protocol version');
    protocol = version;
  }
  for (let at = 2; at < args.length; ) {
    const option = word(argument(args, at));
    if (option === 'auth' && at + 2 < args.length) {
      credentials = [argument(args, at + 1), argument(args, at + 2)];
      at += 3;
    } else if (option === 'setname' && at + 1 < args.length) {
      name = argument(args, at + 1);
      const refusal = nameRefusal(name);
      if (refusal !== undefined) return error(refusal);
      at += 2;
    } else {
      return error(`ERR Syntax error in HELLO option '${argument(args, at).toString()}'`);
    }
  }
  if (credentials) {
    const [user, password] = credentials;
    const fits = acl.authenticate(session, userName(user), password, shownName(args));
    if (!fits) return error(WRONG_PASSWORD);
  }
  if (!acl.isAuthenticated(session)) return error(HELLO_NO_AUTH);
  session.protocol = protocol;
  if (name !== undefined) session.clientName = name.toString('latin1');
  return greeting(session);
}

const HELLO_NO_AUTH =
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> ' +
  'AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol ' +
  'version at the same time';

const userName = (arg: Buffer) => arg.toString('latin1');
/** The command as it was typed, for the log. */
const shownName = (args: readonly Buffer[]) => argument(args, 0).toString('latin1');

function greeting(session: Session): Reply {
  return {
    kind: 'map',
    pairs: [
      [bulk('server'), bulk('redis')],
      [bulk('version'), bulk(REDIS_VERSION)],
      [bulk('proto'), integer(session.protocol)],
      [bulk('id'), integer(session.id)],
      [bulk('mode'), bulk(isClusterDoor(session) ? 'cluster' : 'standalone')],
      [bulk('role'), bulk(session.door === 'follower' ? 'replica' : 'master')],
      [bulk('modules'), array([])],
    ],
  };
}

/** AUTH [username] password */
function auth(args: readonly Buffer[], { session, acl }: NodeContext): Reply {
  if (args.length > 3) return error('ERR syntax error');
  if (args.length === 2 && acl.isOpen) return error(NO_PASSWORD);
  const user = args.length === 2 ? 'default' : userName(argument(args, 1));
  const password = argument(args, args.length - 1);
  const fits = acl.authenticate(session, user, password, shownName(args));
  return fits ? OK : error(WRONG_PASSWORD);
}

/** The namespace that SELECT's argument means: 0 is `default`, n is `db<n>`, else its name. */
export function selectedNamespace(arg: Buffer): Namespace {
  const wanted = arg.toString('utf8');
  if (wanted === '0') return 'default';
  return /^\d+$/.test(wanted) ? `db${wanted}` : wanted;
}

/** SELECT index or namespace; on cluster ports a connection stays in its user's. */
function select(args: readonly Buffer[], { session, acl, hasNamespace }: NodeContext): Reply {
  const wanted = argument(args, 1);
  const namespace = selectedNamespace(wanted);
  if (isClusterDoor(session)) {
    const stays = wanted.toString('latin1') === '0' || namespace === session.namespace;
    return stays ? OK : error('ERR SELECT is not allowed in cluster mode');
  }
  if (!acl.maySelect(session, namespace)) {
    return error(`NOPERM this user has no permissions to access the namespace '${namespace}'`);
  }
  if (namespace !== 'default' && !hasNamespace(namespace)) {
    return error('ERR DB index is out of range');
  }
  session.namespace = namespace;
  return OK;
}

function reset({ session, watch, acl, pubsub, tracking }: NodeContext): Reply | Promise<Reply> {
  acl.forget(session);
  watch.stopMonitor(session);
  tracking.disable(session);
  const ends = pubsub.unsubscribeAll(session.subscriber);
  session.protocol = 2;
  session.clientName = '';
  session.readOnly = false;
  session.notified = false;
  session.replyMode = 'on';
  session.syncs = 'unsaid';
  session.noEvict = false;
  session.noTouch = false;
  session.witnesses = undefined;
  const reply: Reply = { kind: 'simple', text: 'RESET' };
  return ends?.then(() => reply) ?? reply;
}

const shape = {
  keys: NO_KEYS,
  categories: ['connection'],
  group: 'connection',
} as const;

export const connectionCommands: readonly Command[] = [
  node({
    ...shape,
    name: 'ping',
    arity: -1,
    flags: ['fast'],
    since: '1.0.0',
    summary: "Returns the server's liveliness response.",
    run: ping,
  }),
  node({
    ...shape,
    name: 'echo',
    arity: 2,
    flags: ['loading', 'stale', 'fast'],
    since: '1.0.0',
    summary: 'Returns the given string.',
    run: (args) => bulk(argument(args, 1)),
  }),
  node({
    ...shape,
    name: 'hello',
    arity: -1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
    since: '6.0.0',
    summary: 'Handshakes with the server.',
    run: hello,
  }),
  node({
    ...shape,
    name: 'auth',
    arity: -2,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
    since: '1.0.0',
    summary: 'Authenticates the connection.',
    run: auth,
  }),
  node({
    ...shape,
    name: 'select',
    arity: 2,
    flags: ['loading', 'stale', 'fast'],
    since: '1.0.0',
    summary: 'Changes the selected namespace.',
    run: select,
  }),
  node({
    ...shape,
    name: 'quit',
    arity: -1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
    since: '1.0.0',
    summary: 'Closes the connection.',
    run: (_args, { session }) => {
      session.closeAfterReply();
      return OK;
    },
  }),
  node({
    ...shape,
    name: 'reset',
    arity: 1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
    since: '6.2.0',
    summary: 'Resets the connection.',
    run: (_args, context) => reset(context),
  }),
  ...(['readonly', 'readwrite'] as const).map((name) =>
    node({
      ...shape,
      name,
      arity: 1,
      flags: ['loading', 'stale', 'fast'],
      group: 'cluster',
      since: '3.0.0',
      summary: `Marks the connection for ${name === 'readonly' ? 'reads' : 'reads and writes'}.`,
      run: (_args, { session }) => {
        if (!isClusterDoor(session)) {
          return error('ERR This instance has cluster support disabled');
        }
        session.readOnly = name === 'readonly';
        return OK;
      },
    }),
  ),
  node({
    ...shape,
    name: 'asking',
    arity: 1,
    flags: ['fast'],
    group: 'cluster',
    since: '3.0.0',
    summary: 'Signals that the client follows an -ASK redirection; kvorum never sends one.',
    run: (_args, { session }) =>
      isClusterDoor(session) ? OK : error('ERR This instance has cluster support disabled'),
  }),
];
