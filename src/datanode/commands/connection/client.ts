/** CLIENT and its subcommands. */
import { parseInteger } from '../../encoding/strings/string.ts';
import { bulk, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { argument, NOT_AN_INTEGER, SYNTAX_ERROR, word } from '../rows/args.ts';
import {
  type Command,
  type CommandFlag,
  NO_KEYS,
  type NodeCommand,
  node,
} from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import type { NodeContext, Session } from '../rows/node-context.ts';
import { wrongShape } from '../rows/server-row.ts';
import { killFilter, listFilter } from './client-filter.ts';
import { clientLine } from './client-line.ts';
import { isNameTooLong, isPlainName, nameRefusal, nameTooLong } from './connection.ts';
import { caching, getRedirection, tracking, trackingInfo } from './tracking.ts';

type Run = NodeCommand['run'];

function verbatim(text: string): Reply {
  return { kind: 'verbatim', format: 'txt', text };
}

/** So many lines of CLIENT LIST take a millisecond or two; others have their turn behind them. */
const LINES_STEP = 256;

/** CLIENT LIST [TYPE type | ID id [id ...]] */
const list: Run = (args, context) => {
  const isShown = listFilter(args);
  if (typeof isShown === 'string') return error(isShown);
  const shown = context.sessions().filter(isShown);
  if (shown.length <= LINES_STEP) return verbatim(linesOf(shown, context));
  return listInSteps(shown, context);
};

async function listInSteps(shown: readonly Session[], context: NodeContext): Promise<Reply> {
  let lines = '';
  for (let at = 0; at < shown.length; at += LINES_STEP) {
    if (at > 0) await context.sleep(0);
    lines += linesOf(shown.slice(at, at + LINES_STEP), context);
  }
  return verbatim(lines);
}

function linesOf(shown: readonly Session[], { nowMs }: NodeContext): string {
  return shown.map((session) => `${clientLine(session, nowMs)}\n`).join('');
}

const info: Run = (_args, { session, nowMs }) => verbatim(`${clientLine(session, nowMs)}\n`);

const setName: Run = (args, { session }) => {
  const name = argument(args, 2);
  const refusal = nameRefusal(name);
  if (refusal !== undefined) return error(refusal);
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
  if (isNameTooLong(value)) return error(nameTooLong(value));
  if (!isPlainName(value)) {
    return error(`ERR ${field} cannot contain spaces, newlines or special characters.`);
  }
  if (field === 'lib-name') session.libraryName = value.toString('latin1');
  else session.libraryVersion = value.toString('latin1');
  return OK;
};

/**
 * CLIENT REPLY ON | OFF | SKIP; whether it answers is the connection's business. Where replies are
 * off already, SKIP leaves them so: it would turn them on behind the next command.
 */
const reply: Run = (args, { session }) => {
  const mode = word(argument(args, 2));
  if (mode !== 'on' && mode !== 'off' && mode !== 'skip') return error(SYNTAX_ERROR);
  if (mode !== 'skip' || session.replyMode === 'on') session.replyMode = mode;
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

/** CLIENT KILL addr:port | [ID id] [ADDR a] [LADDR a] [USER u] [TYPE t] [SKIPME yes|no] [MAXAGE s] ... */
const kill: Run = (args, context) => {
  const { session: self } = context;
  if (args.length === 3) {
    const address = argument(args, 2).toString('latin1');
    const hit = context.sessions().filter(({ remote }) => remote === address);
    return onceGone(hit, self, hit.length > 0 ? OK : error('ERR No such client'));
  }
  const filter = killFilter(args, (name) => context.acl.hasUser(name), context.nowMs);
  if (typeof filter === 'string') return error(filter);
  const hit = context
    .sessions()
    .filter((session) => !(filter.skipMe && session === self) && filter.matches(session));
  return onceGone(hit, self, integer(hit.length));
};

/**
 * Oneself only after the reply, which comes once none of the others waits for an element any more:
 * what is stored after it is not for them. Where a leader that knows of a wait does not answer, that
 * takes as long as such a wait is withdrawn for any client that has gone.
 */
function onceGone(hit: readonly Session[], self: Session, reply: Reply): Reply | Promise<Reply> {
  const waits: Promise<boolean>[] = [];
  for (const session of hit) {
    if (session === self) {
      session.closeAfterReply();
      continue;
    }
    session.kill();
    if (session.blocked !== undefined) waits.push(session.blocked.end('gone'));
  }
  return waits.length === 0 ? reply : Promise.all(waits).then(() => reply);
}

const ENDPOINT_TYPES = ['internal-ip', 'internal-fqdn', 'external-ip', 'external-fqdn', 'none'];

/**
 * CLIENT MAINT_NOTIFICATIONS ON | OFF [moving-endpoint-type type]: whether it is told when slots
 * have another leader. Addresses are the announced ones whatever the type.
 */
const maintNotifications: Run = (args, { session }) => {
  const mode = word(argument(args, 2));
  const [option, type] = [args[3], args[4]];
  if ((mode !== 'on' && mode !== 'off') || args.length > 5) return error(SYNTAX_ERROR);
  if (option !== undefined) {
    if (word(option) !== 'moving-endpoint-type' || type === undefined) return error(SYNTAX_ERROR);
    if (!ENDPOINT_TYPES.includes(word(type))) {
      return error(`ERR moving-endpoint-type is one of ${ENDPOINT_TYPES.join(', ')}`);
    }
  }
  if (mode === 'on' && session.protocol !== 3) {
    return error('ERR CLIENT MAINT_NOTIFICATIONS needs RESP3: send HELLO 3 first');
  }
  session.notified = mode === 'on';
  return OK;
};

/** CLIENT PAUSE milliseconds [WRITE | ALL] */
const pause: Run = (args, { watch }) => {
  if (args.length > 4) return wrongShape(args);
  const mode = args[3] ? word(args[3]) : 'all';
  if (mode !== 'write' && mode !== 'all') {
    return error('ERR CLIENT PAUSE mode must be WRITE or ALL');
  }
  const timeout = parseInteger(argument(args, 2));
  if (timeout === undefined) return error('ERR timeout is not an integer or out of range');
  if (timeout < 0) return error('ERR timeout is negative');
  watch.pause(Number(timeout), mode);
  return OK;
};

const unpause: Run = (_args, { watch }) => {
  watch.unpause();
  return OK;
};

/** CLIENT UNBLOCK id [TIMEOUT | ERROR] */
const unblock: Run = async (args, { sessions }) => {
  if (args.length > 4) return wrongShape(args);
  const reason = args[3] ? word(args[3]) : 'timeout';
  if (reason !== 'timeout' && reason !== 'error') {
    return error('ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR');
  }
  const wanted = parseInteger(argument(args, 2));
  if (wanted === undefined) return error(NOT_AN_INTEGER);
  const blocked = sessions().find(({ id }) => id === wanted)?.blocked;
  return integer(blocked !== undefined && (await blocked.end(reason)) ? 1 : 0);
};

/** Shown with the admin flag, as Redis does: they act on other connections. */
const ADMIN = new Set(['kill', 'list', 'no-evict', 'pause', 'unblock', 'unpause']);

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
  sub(
    'no-evict',
    3,
    '7.0.0',
    'Accepted: whose requests take most memory is closed at the bound, whatever it says.',
    onOff('noEvict'),
  ),
  sub('no-touch', 3, '7.2.0', 'Accepted: accesses are not recorded here.', onOff('noTouch')),
  sub('getredir', 2, '6.0.0', 'Tells to whom invalidations are redirected.', getRedirection),
  sub('maint_notifications', -3, '8.2.0', 'Tells of moved leaders.', maintNotifications),
  sub('tracking', -3, '6.0.0', 'Controls client side caching.', tracking),
  sub('trackinginfo', 2, '6.2.0', 'Tells about client side caching.', trackingInfo),
  sub('caching', 3, '6.0.0', 'Whether the next command is tracked.', caching),
  sub('pause', -3, '3.0.0', 'Holds back commands of clients for a while.', pause),
  sub('unpause', 2, '6.2.0', 'Ends a pause of clients.', unpause),
  sub('unblock', -3, '5.0.0', 'Ends the wait of a client in a blocking command.', unblock),
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
