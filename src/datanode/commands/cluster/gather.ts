/**
 * Reads over keys of several partitions: each partition is asked for the records of its keys (a
 * private command, which clients cannot send), and the command itself runs on what came together,
 * so that it answers as it does on one partition.
 */

import { slotOfKey } from '../../../common/hash.ts';
import { eachSlice } from '../../encoding/collections/member-walk.ts';
import { type Found, findKey } from '../../encoding/keyspace/keyspace.ts';
import type { CollectionPlace } from '../../encoding/records/element-key.ts';
import { elementRange, isCollectionType } from '../../encoding/records/element-key.ts';
import { decodeCollection, encodeHeader, type Header } from '../../encoding/records/header.ts';
import { tags } from '../../encoding/records/tags.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { Gathered, GatherWriter } from '../../encoding/txn/gathered.ts';
import type { View } from '../../encoding/txn/view.ts';
import { bulk, NULL, type Reply } from '../../resp/reply.ts';
import { argument, countArgument } from '../rows/args.ts';
import {
  type GatheredType,
  NO_KEYS,
  type ReadCommand,
  type ReadRun,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';

export { Gathered };

interface GatherRequest {
  readonly bytesMax: number;
  readonly types: readonly string[];
  readonly keys: readonly Buffer[];
}

/** No name that a client sends can be this one: the table does not have it. */
const NAME = '\0gather';
const NOTHING = Buffer.alloc(0);

/** Where the elements that reads need are. */
const neededTags = {
  set: [tags.setMember],
  zset: [tags.zsetMember, tags.zsetScore],
} as const;

/** `bytesMax`: with more than that the partition answers nil, and nothing else. */
export function gatherLine(
  types: readonly GatheredType[],
  bytesMax: number,
  keys: readonly Buffer[],
): Buffer[] {
  return [...[NAME, String(bytesMax), types.join(' ')].map((text) => Buffer.from(text)), ...keys];
}

/** The row of a line made by `gatherLine`. */
export function gatherRow(line: readonly Buffer[]): ReadCommand | undefined {
  return line[0]?.toString('latin1') === NAME ? row : undefined;
}

/** Runs a command on what was gathered; ranges that it asks for are ranges of `gathered`. */
export function runGathered(run: ReadRun, gathered: Gathered): RunResult {
  // what came here was alive where it came from
  const context: RunContext = { nowMs: 0, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  return run(gathered, context);
}

function parseGather(args: readonly Buffer[]): GatherRequest {
  return {
    bytesMax: countArgument(argument(args, 1)),
    types: argument(args, 2).toString('latin1').split(' '),
    keys: args.slice(3),
  };
}

function* runGather(
  view: View,
  { bytesMax, types, keys }: GatherRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const writer = new GatherWriter(bytesMax);
  let met = 0;
  for (const key of keys) {
    if (isGlanceDue(++met)) yield GLANCE;
    const found = findKey(view, key, nowMs);
    if (found.live === undefined) continue;
    yield* gatherKey(writer, found, found.live, types.includes(found.live.type));
    if (writer.overfull) return NULL;
  }
  return bulk(writer.finish());
}

/** Of a key that the command does not take only the type matters. */
function* gatherKey(
  writer: GatherWriter,
  found: Found,
  live: Header,
  wanted: boolean,
): Slices<void> {
  if (!isCollectionType(live.type)) {
    writer.add(found.place, encodeHeader(wanted ? live : { ...live, body: NOTHING }));
    return;
  }
  writer.add(found.place, encodeHeader(live));
  if (!wanted || (live.type !== 'set' && live.type !== 'zset')) return;
  const { version } = decodeCollection(found.place, live.body);
  const place: CollectionPlace = { slot: slotOfKey(found.key), version };
  for (const tag of neededTags[live.type]) {
    yield* eachSlice(elementRange(tag, place), (pairs) => {
      for (const [key, value] of pairs) writer.add(key, value);
      return writer.overfull;
    });
  }
}

const row: ReadCommand = read({
  name: NAME,
  arity: -4,
  flags: ['readonly'],
  keys: NO_KEYS,
  categories: [],
  group: 'generic',
  since: '7.0.0',
  summary: 'Packs the records of keys, for a command over several partitions.',
  parse: parseGather,
  run: runGather,
});
