/**
 * Sessions on the wire (encoding/sessions/sessions.ts). `KV.ONCE id seq low command …` carries another
 * command, whose keys route it, whose permissions it needs, and which takes effect once however
 * often it is sent. It may be any command of one partition but those that wait for an element (they
 * have ids of their own), WATCH, and these; EXEC of what MULTI has queued as well.
 */
import { limits } from '../../../common/limits.ts';
import {
  askOnce,
  closeSession,
  keepOnce,
  type OnceMark,
  openSession,
} from '../../encoding/sessions/sessions.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { error, integer, OK, type Reply } from '../../resp/reply.ts';
import { ReplyTooLargeError } from '../../resp/reply-pile.ts';
import { argument, SYNTAX_ERROR, wrongArity } from '../rows/args.ts';
import {
  ArgumentError,
  type Carried,
  type Command,
  keysOf,
  NO_KEYS,
  node,
  type ReadRun,
  type RunContext,
  type RunResult,
  type WriteRun,
  write,
} from '../rows/command.ts';
import { helpRow } from '../rows/help.ts';
import { DONE, decodeKept, encodeKept } from './kept-reply.ts';
import { CARRIED_AT } from './once-line.ts';

type Line = readonly Buffer[];
type Resolve = (line: Line) => Command | undefined;

const ID = /^[\x21-\x7e]{8,64}$/;
const NUMBER = /^[1-9]\d{0,15}$/;

const SESSION_LOST = error(
  'SESSIONLOST the partition has no such session: it was never opened, closed, or unused for too ' +
    'long; nothing happened',
);
const TOO_MANY_KEPT = error(
  `TRYAGAIN the session has ${limits.sessionKeptMax} replies that it has not confirmed, or all of ` +
    `the partition have ${limits.sessionsKeptMax}: raise the lowest sequence; nothing happened`,
);
const TOO_MANY_SESSIONS = error(
  `TRYAGAIN the partition has ${limits.sessionsMax} sessions; nothing happened`,
);

interface Once extends OnceMark {
  readonly run: ReadRun | WriteRun;
}

function parseId(arg: Buffer): Buffer {
  if (arg.length > 64 || !ID.test(arg.toString('latin1'))) {
    throw new ArgumentError(
      'ERR a session id has 8 to 64 printable characters, none of them blank',
    );
  }
  return arg;
}

function parseNumber(arg: Buffer, name: string): number {
  const text = arg.toString('latin1', 0, 20);
  const value = NUMBER.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new ArgumentError(`ERR ${name} is a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);
}

/** The command within; undefined when there is none of that name. */
function carriedBy(resolve: Resolve, args: Line): Carried | undefined {
  const line = args.slice(CARRIED_AT);
  const command = resolve(line);
  return command && { command, line };
}

/** `args` with another command within. */
export function carrying(args: Line, line: Line): Line {
  return [...args.slice(0, CARRIED_AT), ...line];
}

function parseOnce(resolve: Resolve, args: Line): Once {
  const id = parseId(argument(args, 1));
  const sequence = parseNumber(argument(args, 2), 'the sequence');
  const low = parseNumber(argument(args, 3), 'the lowest sequence without an answer');
  if (low > sequence)
    throw new ArgumentError('ERR the lowest sequence is above that of the command');
  const carried = carriedBy(resolve, args);
  if (carried === undefined) throw new ArgumentError(SYNTAX_ERROR);
  const { command, line } = carried;
  if (command.kind === 'node' || !mayBeCarried(command, line)) {
    throw new ArgumentError(
      `ERR '${command.name}' cannot be sent under a session: only commands with keys, of one ` +
        'partition, that do not wait',
    );
  }
  const prepared = command.prepare(line);
  if (!prepared.ok) throw new RefusedError(prepared.reply);
  return { id, sequence, low, run: prepared.run };
}

function mayBeCarried(command: Command, line: Line): boolean {
  const { name, arity } = command;
  if (name === 'exec') return true;
  if (name === 'watch' || name.startsWith('kv.')) return false;
  if (arity > 0 ? line.length !== arity : line.length < -arity) throw wrongArity(name);
  if (mayWait(command, line)) return false;
  return keysOf(command, line).length > 0;
}

/** What is malformed is refused for that. */
function mayWait(command: Command, line: Line): boolean {
  if (command.kind === 'node' || command.blocking === undefined) return false;
  return command.prepare(line).ok && command.blocking(line) !== undefined;
}

/** What the command within says of its arguments. */
class RefusedError extends ArgumentError {
  constructor(reply: Reply) {
    super(reply.kind === 'error' ? reply.text : SYNTAX_ERROR);
  }
}

function runOnce(view: WriteView, once: Once, context: RunContext): RunResult {
  const standing = askOnce(view, once, context.nowMs);
  switch (standing.kind) {
    case 'lost':
      return SESSION_LOST;
    case 'full':
      return TOO_MANY_KEPT;
    case 'passed':
      return DONE;
    case 'kept':
      return decodeKept(standing.reply, 1)[0]!;
    case 'new':
      return runNew(view, once, context);
  }
}

function runNew(view: WriteView, once: Once, context: RunContext): RunResult {
  const keep = (reply: Reply) => {
    keepOnce(view, once, encodeKept([reply]));
    return reply;
  };
  try {
    const result = once.run(view, context);
    return 'kind' in result ? keep(result) : runSlices(result, keep);
  } catch (failure) {
    return keep(tooLarge(failure));
  }
}

function* runSlices(slices: Slices<Reply>, keep: (reply: Reply) => Reply): Slices<Reply> {
  try {
    return keep(yield* slices);
  } catch (failure) {
    return keep(tooLarge(failure));
  }
}

/** A reply that would be too large: the command has changed nothing. */
function tooLarge(failure: unknown): Reply {
  if (!(failure instanceof ReplyTooLargeError)) throw failure;
  return failure.reply;
}

const column = {
  group: 'generic',
  since: '0.1.0',
  categories: [] as readonly string[],
  keys: NO_KEYS,
};

const sessionRows: readonly Command[] = [
  write({
    ...column,
    name: 'kv.session|open',
    arity: 4,
    flags: ['write', 'fast'],
    keys: { first: 3, last: 3, step: 1 },
    summary: 'Opens a session in the partition that has the key.',
    parse: (args) => parseId(argument(args, 2)),
    run: (view, id, { nowMs }) => (openSession(view, id, nowMs) ? OK : TOO_MANY_SESSIONS),
  }),
  write({
    ...column,
    name: 'kv.session|close',
    arity: 4,
    flags: ['write', 'fast'],
    keys: { first: 3, last: 3, step: 1 },
    summary: 'Ends a session in the partition that has the key.',
    parse: (args) => parseId(argument(args, 2)),
    run: (view, id, { nowMs }) => integer(closeSession(view, id, nowMs) ? 1 : 0),
  }),
  helpRow('kv.session', column, () => sessionRows),
];

export function onceCommands(resolve: Resolve): readonly Command[] {
  const carries = (args: Line) => carriedBy(resolve, args);
  return [
    write({
      ...column,
      name: 'kv.once',
      arity: -5,
      flags: ['write', 'denyoom', 'movablekeys'],
      summary: 'Runs a command that takes effect once, however often it is sent.',
      carries,
      keysOf: (args) => {
        const carried = carries(args);
        return carried === undefined ? [] : keysOf(carried.command, carried.line);
      },
      parse: (args) => parseOnce(resolve, args),
      run: runOnce,
    }),
    node({
      ...column,
      name: 'kv.session',
      arity: -2,
      flags: [],
      summary: 'A container for commands of sessions.',
      subcommands: sessionRows,
      run: () => error(SYNTAX_ERROR),
    }),
  ];
}
