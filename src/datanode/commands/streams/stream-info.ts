/** XINFO: what streams, their groups and consumers are. */
import type { Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { edgeEntry } from '../../encoding/streams/stream-entries.ts';
import type { View } from '../../encoding/txn/view.ts';
import { error, integer, NULL, type Reply } from '../../resp/reply.ts';
import {
  argument,
  countArgument,
  NO_SUCH_KEY,
  SYNTAX_ERROR,
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
  read,
} from '../rows/command.ts';
import { helpRow } from '../rows/help.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { wrongSubcommand } from './stream-errors.ts';
import {
  fullInfo,
  parseConsumersInfo,
  parseGroupsInfo,
  runConsumersInfo,
  runGroupsInfo,
} from './stream-info-groups.ts';
import { entryReply, idReply, mapReply } from './stream-replies.ts';
import { SECOND_KEY, streamColumn } from './stream-rows.ts';

/** Entries in a node of Redis's radix trees. */
const NODE_ENTRIES = 100;

interface InfoShape {
  /** FULL: how much of each kind, 0: all. */
  readonly full: number | undefined;
}

/** XINFO STREAM key [FULL [COUNT count]] */
function parseStreamInfo(args: readonly Buffer[]) {
  return { key: argument(args, 2), shape: late(() => infoShape(args)) };
}

function infoShape(args: readonly Buffer[]): InfoShape {
  const [full, option, count] = args.slice(3);
  if (full === undefined) return { full };
  const isRight = word(full) === 'full' && (option === undefined || word(option) === 'count');
  if (!isRight || args.length === 5 || args.length > 6) throw wrongSubcommand(args);
  const most = count === undefined ? FULL_COUNT : countArgument(count);
  return { full: most < 0 ? FULL_COUNT : most };
}

const FULL_COUNT = 10;

function runStreamInfo(
  view: View,
  { key, shape }: ReturnType<typeof parseStreamInfo>,
  { nowMs }: RunContext,
): RunResult {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined) return NO_SUCH_KEY;
  if (stream === 'wrong-type') return WRONG_TYPE;
  if (shape instanceof ArgumentError) return lateReply(shape);
  const { full } = shape;
  return full === undefined ? streamInfo(stream) : fullStreamInfo(view, stream, full);
}

function* fullStreamInfo(view: View, stream: Stream, count: number): Slices<Reply> {
  return mapReply([...countsOf(stream), ...(yield* fullInfo(view, stream, count))]);
}

function* streamInfo(stream: Stream): Slices<Reply> {
  const first = yield* edgeEntry(stream, 'first');
  const last = yield* edgeEntry(stream, 'last');
  const fields: readonly (readonly [string, Reply])[] = [
    ...countsOf(stream),
    ['groups', integer(stream.groups)],
    ['first-entry', first === undefined ? NULL : entryReply(first)],
    ['last-entry', last === undefined ? NULL : entryReply(last)],
  ];
  return mapReply(fields);
}

/** What XINFO STREAM tells of a stream in either form. */
function countsOf(stream: Stream): readonly (readonly [string, Reply])[] {
  // there is no such tree here: as many nodes as Redis has where nothing was removed
  const keys = Math.ceil(stream.size / NODE_ENTRIES);
  return [
    ['length', integer(stream.size)],
    ['radix-tree-keys', integer(keys)],
    ['radix-tree-nodes', integer(keys + 1)],
    ['last-generated-id', idReply(stream.lastId)],
    ['max-deleted-entry-id', idReply(stream.maxDeletedId)],
    ['entries-added', integer(stream.entriesAdded)],
    ['recorded-first-entry-id', idReply(stream.firstId)],
  ];
}

const infoRows: readonly Command[] = [
  read({
    ...streamColumn,
    name: 'xinfo|consumers',
    arity: 4,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns the consumers of a group.',
    parse: parseConsumersInfo,
    run: runConsumersInfo,
  }),
  read({
    ...streamColumn,
    name: 'xinfo|groups',
    arity: 3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns the consumer groups of a stream.',
    parse: parseGroupsInfo,
    run: runGroupsInfo,
  }),
  read({
    ...streamColumn,
    name: 'xinfo|stream',
    arity: -3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns what there is to know of a stream.',
    parse: parseStreamInfo,
    run: runStreamInfo,
  }),
  helpRow('xinfo', { ...streamColumn, since: '5.0.0' }, () => infoRows),
];

export const streamInfoCommands: readonly Command[] = [
  node({
    ...streamColumn,
    name: 'xinfo',
    categories: [],
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'A container for commands that look into streams.',
    subcommands: infoRows,
    run: () => error(SYNTAX_ERROR),
  }),
];
