/** CLIENT and its subcommands. */
import { array, bulk, error, integer, NULL, OK, type Reply } from '../resp/reply.ts';
import { argument, SYNTAX_ERROR, word } from './args.ts';
import { type Command, type CommandFlag, NO_KEYS, type NodeCommand, node } from './command.ts';
import { BAD_NAME, isPlainName } from './connection.ts';
import { helpReply } from './help.ts';
import type { NodeContext, Session } from './node-context.ts';
import { isSubscribed } from './pubsub-port.ts';

type Run = NodeCommand['run'];

const CLIENT_TYPES = ['normal', 'master', 'replica', 'slave', 'pubsub'];

/** One line of CLIENT LIST, fields as in Redis 7.2. */
function clientLine(session: Session, nowMs: number): string {
  const { channel, pattern, shard } = session.subscriber.subscriptions;
  const seconds = (sinceMs: number) => Math.max(0, Math.floor((nowMs - sinceMs) / 1_000));
  const fields = {
    id: session.id,
    addr: session.remote,
    laddr: session.local,
    name: session.clientName,
    age: seconds(session.connectedMs),
    idle: seconds(session.lastCommandMs),
    flags: flags(session),
    db: 0,
    namespace: session.namespace,
    sub: channel.size,
    psub: pattern.size,
    ssub: shard.size,
    multi: -1,
    cmd: session.lastCommand || 'NULL',
    user: 'default',
    redir: -1,
    resp: session.protocol,
    'lib-name': session.libraryName,
    'lib-ver': session.libraryVersion,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** Letters of Redis: P subscribes, r reads from replicas, N nothing of note. */
function flags({ subscriber, readOnly }: Session): string {
  return `${isSubscribed(subscriber) ? 'P' : ''}${readOnly ? 'r' : ''}` || 'N';
}

function isOfType(session: Session, type: string): boolean {
  return type === (isSubscribed(session.subscriber) ? 'pubsub' : 'normal');
}

function verbatim(text: string): Reply {
  return { kind: 'verbatim', format: 'txt', text };
}

/** CLIENT LIST [TYPE type | ID id [id ...]] */
const list: Run = (args, { sessions, nowMs }) => {
  let shown = sessions();
  if (args.length > 2) {
    const filter = word(argument(args, 2));
    if (filter === 'type' && args.length === 4) {
      const type = word(argument(args, 3));
      if (!CLIENT_TYPES.includes(type)) {
        return error(`ERR Unknown client type '${argument(args, 3).toString()}'`);
      }
      shown = shown.filter((session) => isOfType(session, type));
    } else if (filter === 'id' && args.length > 3) {
      const ids = args.slice(3).map((arg) => Number(arg.toString('latin1')));
      if (ids.some((id) => !Number.isInteger(id) || id < 1)) return error('ERR Invalid client ID');
      shown = shown.filter(({ id }) => ids.includes(id));
    } else {
      return error(SYNTAX_ERROR);
    }
  }
  return verbatim(shown.map((session) => `${clientLine(session, nowMs)}\n`).join(''));
};

const info: Run = (_args, { session, nowMs }) => verbatim(`${clientLine(session, nowMs)}\n`);

const setName: Run = (args, { session }) => {
  const name = argument(args, 2);
  if (!isPlainName(name)) return error(BAD_NAME);
  session.clientName = name.toString('latin1');
  return OK;
};

/** CLIENT SETINFO LIB-NAME name | LIB-VER version */
const setInfo: Run = (args, { session }) => {
  const field = word(argument(args, 2));
  const value = argument(args, 3);
  if (field !== 'lib-name' && field !== 'lib-ver') {
    return error(`ERR Unrecognized option '${argument(args, 2).toString()}'`);
  }
  if (!isPlainName(value)) {
    return error(`ERR ${field} cannot contain spaces, newlines or special characters.`);
  }
  if (field === 'lib-name') session.libraryName = value.toString('latin1');
  else session.libraryVersion = value.toString('latin1');
  return OK;
};

/** CLIENT REPLY ON | OFF | SKIP; whether it answers is the connection's business. */
const reply: Run = (args, { session }) => {
  const mode = word(argument(args, 2));
  if (mode !== 'on' && mode !== 'off' && mode !== 'skip') return error(SYNTAX_ERROR);
  session.replyMode = mode;
  return OK;
};

const onOff =
  (field: 'noEvict' | 'noTouch'): Run =>
  (args, { session }) => {
    const mode = word(argument(args, 2));
    if (mode !== 'on' && mode !== 'off') return error(SYNTAX_ERROR);
    session[field] = mode === 'on';
    return OK;
  };

/** CLIENT KILL addr:port | [ID id] [ADDR a] [LADDR a] [USER u] [TYPE t] [SKIPME yes|no] */
const kill: Run = (args, context) => {
  const old = args.length === 3;
  const filters = old ? oldFilter(argument(args, 2)) : newFilters(args);
  if (typeof filters === 'string') return error(filters);
  const { session: self } = context;
  const hit = context
    .sessions()
    .filter((session) => (old || !filters.skipMe || session !== self) && filters.matches(session));
  for (const session of hit) {
    if (session === self) session.closeAfterReply();
    else session.kill();
  }
  if (!old) return integer(hit.length);
  return hit.length > 0 ? OK : error('ERR No such client');
};

interface KillFilter {
  readonly skipMe: boolean;
  matches(session: Session): boolean;
}

function oldFilter(address: Buffer): KillFilter {
  const text = address.toString('latin1');
  return { skipMe: false, matches: ({ remote }) => remote === text };
}

function newFilters(args: readonly Buffer[]): KillFilter | string {
  const tests: ((session: Session) => boolean)[] = [];
  let skipMe = true;
  if (args.length % 2 !== 0) return SYNTAX_ERROR;
  for (let at = 2; at < args.length; at += 2) {
    const name = word(argument(args, at));
    const value = argument(args, at + 1).toString('latin1');
    if (name === 'id') {
      if (!/^\d+$/.test(value) || value === '0') {
        return 'ERR client-id should be greater than 0';
      }
      tests.push(({ id }) => id === Number(value));
    } else if (name === 'addr') tests.push(({ remote }) => remote === value);
    else if (name === 'laddr') tests.push(({ local }) => local === value);
    else if (name === 'user') {
      if (value !== 'default') return `ERR No such user '${value}'`;
    } else if (name === 'type') {
      if (!CLIENT_TYPES.includes(value.toLowerCase())) return `ERR Unknown client type '${value}'`;
      tests.push((session) => isOfType(session, value.toLowerCase()));
    } else if (name === 'skipme' && /^(yes|no)$/i.test(value)) skipMe = /^yes$/i.test(value);
    else return SYNTAX_ERROR;
  }
  return { skipMe, matches: (session) => tests.every((test) => test(session)) };
}

const trackingOff: Run = (args) => {
  const mode = word(argument(args, 2));
  if (mode === 'off') return OK;
  return error(
    mode === 'on'
      ? 'ERR client side caching is not offered by this server; use CLIENT TRACKING OFF'
      : SYNTAX_ERROR,
  );
};

const trackingInfo = (): Reply => ({
  kind: 'map',
  pairs: [
    [bulk('flags'), { kind: 'set', items: [bulk('off')] }],
    [bulk('redirect'), integer(-1)],
    [bulk('prefixes'), array([])],
  ],
});

/** Shown with the admin flag, as Redis does: they act on other connections. */
const ADMIN = new Set(['kill', 'list', 'no-evict', 'unblock']);

function flagsOf(name: string): readonly CommandFlag[] {
  if (name === 'help') return ['loading', 'stale'];
  return [...(ADMIN.has(name) ? (['admin'] as const) : []), 'noscript', 'loading', 'stale'];
}

function sub(name: string, arity: number, since: string, summary: string, run: Run): NodeCommand {
  return node({
    name: `client|${name}`,
    arity,
    flags: flagsOf(name),
    keys: NO_KEYS,
    categories: ['connection'],
    group: 'connection',
    since,
    summary,
    run,
  });
}

const subcommands: readonly NodeCommand[] = [
  sub('id', 2, '5.0.0', "Returns the connection's id.", (_args, { session }) =>
    integer(session.id),
  ),
  sub('getname', 2, '2.6.9', 'Returns the name of the connection.', (_args, { session }) =>
    session.clientName === '' ? NULL : bulk(session.clientName),
  ),
  sub('setname', 3, '2.6.9', 'Sets the connection name.', setName),
  sub('setinfo', 4, '7.2.0', 'Sets information about the client library.', setInfo),
  sub('info', 2, '6.2.0', 'Returns information about the connection.', info),
  sub('list', -2, '2.4.0', 'Lists open connections.', list),
  sub('kill', -3, '2.4.0', 'Terminates open connections.', kill),
  sub('reply', 3, '3.2.0', 'Tells the server whether to reply.', reply),
  sub('no-evict', 3, '7.0.0', 'Accepted: connections are never evicted here.', onOff('noEvict')),
  sub('no-touch', 3, '7.2.0', 'Accepted: accesses are not recorded here.', onOff('noTouch')),
  sub('getredir', 2, '6.0.0', 'Returns -1: tracking is off.', () => integer(-1)),
  sub('tracking', -3, '6.0.0', 'Controls client side caching (off only).', trackingOff),
  sub('trackinginfo', 2, '6.2.0', 'Tells about client side caching.', trackingInfo),
  sub('unblock', -3, '5.0.0', 'Unblocks a blocked client; none is ever blocked.', () => integer(0)),
  sub('help', 2, '5.0.0', 'Lists the subcommands.', () => helpReply('client', subcommands)),
];

/** CLIENT subcommand [argument ...] */
export const clientCommands: readonly Command[] = [
  node({
    name: 'client',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    categories: ['slow'],
    group: 'connection',
    since: '2.4.0',
    summary: 'A container for client connection commands.',
    subcommands,
    run: (_args, _context: NodeContext) => error(SYNTAX_ERROR),
  }),
];
