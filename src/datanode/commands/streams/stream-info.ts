/** XINFO: what streams, their groups and consumers are. */
import type { Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { edgeEntry } from '../../encoding/streams/stream-entries.ts';
import type { View } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, type Reply } from '../../resp/reply.ts';
import { argument, NO_SUCH_KEY, SYNTAX_ERROR, syntaxError, WRONG_TYPE } from '../rows/args.ts';
import {
  type Command,
  NO_KEYS,
  node,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import { entryReply, idReply } from './stream-replies.ts';
import { NOT_YET, SECOND_KEY, streamColumn } from './stream-rows.ts';

/** Entries in a node of Redis's radix trees. */
const NODE_ENTRIES = 100;

/** XINFO STREAM key */
function parseStreamInfo(args: readonly Buffer[]): Buffer {
  if (args.length > 3) throw syntaxError();
  return argument(args, 2);
}

function runStreamInfo(view: View, key: Buffer, { nowMs }: RunContext): RunResult {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined) return NO_SUCH_KEY;
  if (stream === 'wrong-type') return WRONG_TYPE;
  return streamInfo(stream);
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
export function countsOf(stream: Stream): readonly (readonly [string, Reply])[] {
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

export function mapReply(fields: readonly (readonly [string, Reply])[]): Reply {
  return { kind: 'map', pairs: fields.map(([name, value]) => [bulk(name), value]) };
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
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xinfo|groups',
    arity: 3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns the consumer groups of a stream.',
    parse: (args) => args,
    run: () => NOT_YET,
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
  node({
    ...streamColumn,
    name: 'xinfo|help',
    arity: 2,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'Lists the subcommands.',
    run: () => helpReply('xinfo', infoRows),
  }),
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
