/** XGROUP: consumer groups of streams. */
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import type { StreamId } from '../../encoding/records/stream-id.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import {
  newStream,
  type OpenStream,
  openStream,
  saveStream,
} from '../../encoding/streams/stream.ts';
import { Deliveries } from '../../encoding/streams/stream-deliveries.ts';
import {
  addGroup,
  type Consumer,
  canConsume,
  type Group,
  hasGroupLeft,
  putGroup,
  readConsumer,
  readGroup,
  removeConsumer,
  removeGroup,
} from '../../encoding/streams/stream-groups.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { error, integer, OK, type Reply } from '../../resp/reply.ts';
import {
  argument,
  countArgument,
  SYNTAX_ERROR,
  textBytes,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  node,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { helpRow } from '../rows/help.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { edgeOrIdArgument, idArgument } from './stream-args.ts';
import { NO_CONSUMER_LEFT, NO_GROUP_LEFT, noGroupOf, wrongSubcommand } from './stream-errors.ts';
import { fromStreams, SECOND_KEY, streamColumn } from './stream-rows.ts';

const NOTHING = integer(0);
const ONE = integer(1);
const NO_STREAM = error(
  'ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to ' +
    'use the MKSTREAM option to create an empty stream automatically.',
);
const BUSY_GROUP = error('BUSYGROUP Consumer Group name already exists');
const ENTRIES_READ = 'ERR value for ENTRIESREAD must be positive or -1';

interface Position {
  readonly key: Buffer;
  readonly group: Buffer;
  /** Told once stream and group were looked at: Redis's order. */
  readonly id: StreamId | 'last' | ArgumentError;
  /** Undefined: not known. */
  readonly entriesRead: number | undefined;
  readonly makeStream: boolean;
}

/** XGROUP CREATE key group id | $ [MKSTREAM] [ENTRIESREAD entries-read], XGROUP SETID */
function parsePosition(name: 'CREATE' | 'SETID'): (args: readonly Buffer[]) => Position {
  return (args) => {
    let entriesRead: number | undefined;
    let makeStream = false;
    for (let at = 5; at < args.length; at++) {
      const option = word(args[at]!);
      if (option === 'mkstream' && name === 'CREATE') makeStream = true;
      else if (option === 'entriesread' && at + 1 < args.length) {
        entriesRead = entriesReadArgument(args[++at]!);
      } else {
        throw wrongSubcommand(args);
      }
    }
    const id = late(() => positionId(args, name));
    return { key: argument(args, 2), group: argument(args, 3), id, entriesRead, makeStream };
  };
}

/** More words are refused, though each of them were an option. */
const WORDS_MAX = { CREATE: 8, SETID: 7 } as const;

/** As Redis has it, SETID takes `-` and `+` as well. */
function positionId(args: readonly Buffer[], of: 'CREATE' | 'SETID'): StreamId | 'last' {
  if (args.length > WORDS_MAX[of]) throw wrongSubcommand(args);
  const arg = argument(args, 4);
  if (textBytes(arg).toString('latin1') === '$') return 'last';
  return of === 'SETID' ? edgeOrIdArgument(arg) : idArgument(arg);
}

function entriesReadArgument(arg: Buffer): number | undefined {
  const entriesRead = countArgument(arg);
  if (entriesRead < -1) throw new ArgumentError(ENTRIES_READ);
  return entriesRead === -1 ? undefined : entriesRead;
}

function runCreate(view: WriteView, position: Position, { nowMs }: RunContext): RunResult {
  const { key, group, id, entriesRead, makeStream } = position;
  const found = openStream(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined && !makeStream) return NO_STREAM;
  if (id instanceof ArgumentError) return lateReply(id);
  const stream = found ?? newStream(view, findKey(view, key, nowMs));
  if (readGroup(view, stream, group) !== undefined) return BUSY_GROUP;
  if (!hasGroupLeft(stream)) return NO_GROUP_LEFT;
  addGroup(view, stream, group, id === 'last' ? stream.lastId : id, entriesRead);
  saveStream(view, stream);
  view.notify?.('stream', 'xgroup-create', key);
  return OK;
}

interface Named {
  readonly key: Buffer;
  readonly group: Buffer;
}

/** XGROUP DESTROY key group */
function parseNamed(args: readonly Buffer[]): Named {
  return { key: argument(args, 2), group: argument(args, 3) };
}

interface NamedConsumer extends Named {
  readonly consumer: Buffer;
}

/** XGROUP CREATECONSUMER key group consumer, XGROUP DELCONSUMER */
function parseConsumer(args: readonly Buffer[]): NamedConsumer {
  return { ...parseNamed(args), consumer: argument(args, 4) };
}

/** Runs on the stream and the group that the request names. */
function onGroup<Request extends Named>(
  run: (view: WriteView, found: Found, request: Request, nowMs: number) => RunResult,
): (view: WriteView, request: Request, context: RunContext) => RunResult {
  return (view, request, { nowMs }) => {
    const { key, group: name } = request;
    const stream = openStream(view, key, nowMs);
    if (stream === 'wrong-type') return WRONG_TYPE;
    if (stream === undefined) return NO_STREAM;
    const group = readGroup(view, stream, name);
    return group === undefined
      ? noGroupOf(key, name)
      : run(view, { stream, group }, request, nowMs);
  };
}

interface Found {
  readonly stream: OpenStream;
  readonly group: Group;
}

const runSetId = onGroup<Position>((view, { stream, group }, { key, id, entriesRead }) => {
  if (id instanceof ArgumentError) return lateReply(id);
  const lastId = id === 'last' ? stream.lastId : id;
  putGroup(view, stream.place, { ...group, lastId, entriesRead });
  view.notify?.('stream', 'xgroup-setid', key);
  return OK;
});

const runCreateConsumer = onGroup<NamedConsumer>((view, found, { key, consumer }, nowMs) => {
  const deliveries = new Deliveries(view, found.stream, found.group);
  if (deliveries.find(consumer, nowMs) !== undefined) return NOTHING;
  if (!canConsume(view, found.stream.place, found.group, consumer)) return NO_CONSUMER_LEFT;
  deliveries.add(consumer, nowMs);
  deliveries.save();
  view.notify?.('stream', 'xgroup-createconsumer', key);
  return ONE;
});

const runDeleteConsumer = onGroup<NamedConsumer>((view, { stream, group }, { key, consumer }) => {
  const found = readConsumer(view, stream.place, group, consumer);
  return found === undefined ? NOTHING : deleteConsumer(view, { stream, group }, found, key);
});

function* deleteConsumer(
  view: WriteView,
  { stream, group }: Found,
  consumer: Consumer,
  key: Buffer,
): Slices<Reply> {
  yield* removeConsumer(view, stream.place, group, consumer);
  view.notify?.('stream', 'xgroup-delconsumer', key);
  return integer(consumer.pending);
}

function runDestroy(view: WriteView, { key, group: name }: Named, { nowMs }: RunContext) {
  const stream = openStream(view, key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  if (stream === undefined) return NO_STREAM;
  const group = readGroup(view, stream, name);
  return group === undefined ? NOTHING : destroy(view, { stream, group }, key);
}

function* destroy(view: WriteView, { stream, group }: Found, key: Buffer): Slices<Reply> {
  yield* removeGroup(view, stream, group);
  saveStream(view, stream);
  view.notify?.('stream', 'xgroup-destroy', key);
  return ONE;
}

const column = { ...streamColumn, keys: SECOND_KEY, appliesFrom: fromStreams } as const;

const groupRows: readonly Command[] = [
  write({
    ...column,
    name: 'xgroup|create',
    arity: -5,
    flags: ['write', 'denyoom'],
    since: '5.0.0',
    summary: 'Creates a consumer group.',
    parse: parsePosition('CREATE'),
    run: runCreate,
  }),
  write({
    ...column,
    name: 'xgroup|createconsumer',
    arity: 5,
    flags: ['write', 'denyoom'],
    since: '6.2.0',
    summary: 'Creates a consumer in a group.',
    parse: parseConsumer,
    run: runCreateConsumer,
  }),
  write({
    ...column,
    name: 'xgroup|delconsumer',
    arity: 5,
    flags: ['write'],
    since: '5.0.0',
    summary: 'Deletes a consumer and what is pending for it.',
    parse: parseConsumer,
    run: runDeleteConsumer,
  }),
  write({
    ...column,
    name: 'xgroup|destroy',
    arity: 4,
    flags: ['write'],
    since: '5.0.0',
    summary: 'Deletes a consumer group.',
    parse: parseNamed,
    run: runDestroy,
  }),
  write({
    ...column,
    name: 'xgroup|setid',
    arity: -5,
    flags: ['write'],
    since: '5.0.0',
    summary: 'Sets the last ID that a group was given.',
    parse: parsePosition('SETID'),
    run: runSetId,
  }),
  helpRow('xgroup', { ...streamColumn, since: '5.0.0' }, () => groupRows),
];

export const streamGroupCommands: readonly Command[] = [
  node({
    ...streamColumn,
    name: 'xgroup',
    categories: [],
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'A container for commands about consumer groups.',
    appliesFrom: fromStreams,
    subcommands: groupRows,
    run: () => error(SYNTAX_ERROR),
  }),
];
