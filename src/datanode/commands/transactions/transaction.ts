/**
 * MULTI, EXEC, DISCARD, WATCH, UNWATCH (redis.io, Transactions). The connection queues and watches
 * (server/transaction.ts); what reaches a partition is one EXEC line, run here as one command.
 */
import { ByteRangeError } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import { SteadyList } from '../../../common/steady-list.ts';
import { eachItem, GLANCE, NOTHING, type Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, error, NULL_ARRAY, OK, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyTooLargeError, replyTooLarge } from '../../resp/reply-pile.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  node,
  type RunContext,
  refusalBefore,
  write,
} from '../rows/command.ts';
import { execLines, isBrokenExec } from './exec-line.ts';
import { tooNew, unknownOf } from './unknown.ts';

type Line = readonly Buffer[];
type Resolve = (line: Line) => Command | undefined;

const WITHOUT_MULTI = 'ERR EXEC without MULTI';
/** Where an EXEC line has its commands. */
const EXEC_BODY_AT = 3;
/** Commands that are run before others may have their turn; between any two a look at the clock. */
const LINES_STEP = 16;

/** Writes are not refused: they have to be carried out. */
const NO_ROOM = replyTooLarge('fewer or smaller reads in a transaction').reply;
/** Not larger than the error that would take its place, near enough. */
const SMALL_REPLY_BYTES = 256;
const LEFT_OUT = error(
  'ERR carried out, but its reply is left out: all replies of the transaction would be larger than ' +
    `${limits.execReplyBytesMax} bytes`,
);

/** What a transaction's log line runs, one after the other: nothing comes in between. */
function* runExec(
  resolve: Resolve,
  view: WriteView,
  exec: Line,
  context: RunContext,
): Slices<Reply> {
  const lines = yield* linesOf(exec);
  if (lines === undefined) return error(WITHOUT_MULTI);
  const replies: Reply[] = [];
  let bytes = 0;
  let met = 0;
  for (const line of lines) {
    // others have their turns in the midst of a transaction, and nobody sees a part of it
    yield ++met % LINES_STEP === 0 ? NOTHING : GLANCE;
    const command = resolve(line);
    const full = bytes > limits.replyBytesMax && command?.kind === 'read';
    const unknown = unknownOf(command, line, resolve);
    if (unknown !== undefined) throw tooNew(unknown);
    const reply = full ? NO_ROOM : yield* runLine(command, view, line, context);
    const size = replyBytes(reply);
    if (size > SMALL_REPLY_BYTES && bytes + size > limits.execReplyBytesMax) {
      replies.push(LEFT_OUT);
      continue;
    }
    bytes += size;
    replies.push(reply);
  }
  return array(replies);
}

function* runLine(
  command: Command | undefined,
  view: WriteView,
  line: Line,
  context: RunContext,
): Slices<Reply> {
  if (command === undefined || command.kind === 'node') {
    return error(`ERR '${line[0]?.toString()}' cannot be part of a transaction here`);
  }
  const refusal = refusalBefore(command, line, context.applyVersion);
  if (refusal !== undefined) return refusal;
  const prepared = command.prepare(line);
  if (!prepared.ok) return prepared.reply;
  try {
    const result = prepared.run(view, context);
    return 'kind' in result ? result : yield* result;
  } catch (failure) {
    // it has changed nothing
    if (!(failure instanceof ReplyTooLargeError)) throw failure;
    return failure.reply;
  }
}

/** All of them are there before the first one runs; undefined: the line is not one of ours. */
function* linesOf(exec: Line): Slices<SteadyList<Line> | undefined> {
  const lines = new SteadyList<Line>();
  try {
    yield* eachItem(execLines(exec), (line) => lines.push(line));
    return lines;
  } catch (failure) {
    if (failure instanceof ByteRangeError) return undefined;
    throw failure;
  }
}

/** Undefined: its watch is broken. What is in it is looked at by the run, in steps. */
function parseExec(args: Line): Line | undefined {
  if (isBrokenExec(args)) return undefined;
  if (args[EXEC_BODY_AT] === undefined) throw new ArgumentError(WITHOUT_MULTI);
  return args;
}

const column = { categories: ['transaction'], group: 'transactions' };
const flags = ['noscript', 'loading', 'stale', 'fast', 'allow_busy'] as const;

export function transactionCommands(resolve: Resolve): readonly Command[] {
  return [
    node({
      ...column,
      name: 'multi',
      arity: 1,
      flags,
      keys: NO_KEYS,
      since: '1.2.0',
      summary: 'Begins to queue commands that EXEC runs as one.',
      run: () => error('ERR MULTI calls can not be nested'),
    }),
    write({
      ...column,
      name: 'exec',
      arity: 1,
      flags: ['noscript', 'loading', 'stale', 'skip_slowlog'],
      keys: NO_KEYS,
      since: '1.2.0',
      summary: 'Runs the queued commands as one.',
      parse: parseExec,
      run: (view, exec, context) =>
        exec === undefined ? NULL_ARRAY : runExec(resolve, view, exec, context),
    }),
    node({
      ...column,
      name: 'discard',
      arity: 1,
      flags,
      keys: NO_KEYS,
      since: '2.0.0',
      summary: 'Forgets the queued commands, and what is watched.',
      run: () => error('ERR DISCARD without MULTI'),
    }),
    write({
      ...column,
      name: 'watch',
      arity: -2,
      flags,
      keys: { first: 1, last: -1, step: 1 },
      since: '2.2.0',
      summary: 'Makes the next EXEC depend on keys that nobody changes until then.',
      parse: () => undefined,
      run: () => OK,
    }),
    node({
      ...column,
      name: 'unwatch',
      arity: 1,
      flags,
      keys: NO_KEYS,
      since: '2.2.0',
      summary: 'Watches nothing any more.',
      run: () => OK,
    }),
  ];
}
