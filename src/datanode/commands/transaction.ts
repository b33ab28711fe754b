/**
 * MULTI, EXEC, DISCARD, WATCH, UNWATCH (redis.io, Transactions). The connection queues and watches
 * (server/transaction.ts); what reaches a partition is one EXEC line, run here as one command.
 */
import { limits } from '../../common/limits.ts';
import type { Slices } from '../encoding/slices.ts';
import type { WriteView } from '../encoding/view.ts';
import { array, error, NULL_ARRAY, OK, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { ReplyTooLargeError, replyTooLarge } from '../resp/reply-pile.ts';
import { ArgumentError, type Command, NO_KEYS, node, type RunContext, write } from './command.ts';
import { decodeExec, isBrokenExec } from './exec-line.ts';

type Resolve = (line: readonly Buffer[]) => Command | undefined;

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
  lines: readonly (readonly Buffer[])[],
  context: RunContext,
): Slices<Reply> {
  const replies: Reply[] = [];
  let bytes = 0;
  for (const line of lines) {
    const command = resolve(line);
    const full = bytes > limits.replyBytesMax && command?.kind === 'read';
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
  line: readonly Buffer[],
  context: RunContext,
): Slices<Reply> {
  if (command === undefined || command.kind === 'node') {
    return error(`ERR '${line[0]?.toString()}' cannot be part of a transaction here`);
  }
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

/** Undefined: its watch is broken. */
function parseExec(args: readonly Buffer[]): readonly (readonly Buffer[])[] | undefined {
  if (isBrokenExec(args)) return undefined;
  const lines = decodeExec(args);
  if (lines === undefined) throw new ArgumentError('ERR EXEC without MULTI');
  return lines;
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
      run: (view, lines, context) =>
        lines === undefined ? NULL_ARRAY : runExec(resolve, view, lines, context),
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
