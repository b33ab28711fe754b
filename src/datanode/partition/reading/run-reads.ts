/** Runs a batch of reads on an engine: synchronously where it can, else on a snapshot. */
import type { RunContext } from '../../commands/rows/command.ts';
import type { Pacing } from '../../encoding/steps/slices.ts';
import { LARGE_RECORD_BYTES, type RecordOpener } from '../../encoding/txn/large-records.ts';
import type { Lookups } from '../../encoding/txn/view.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import type { LineResult } from '../entries/batch.ts';
import type { ReadEngine } from '../remembering/hot-engines.ts';
import { BatchView } from './batch-view.ts';
import type { RangeRead } from './range-line.ts';
import type { RangeRoom, RangeSize } from './range-room.ts';
import { beginKnown, startLine } from './read-lines.ts';
import { bytesMaxOf, cutShort, runOnStates } from './read-states.ts';

/**
 * Whether a batch is to run in a later turn. Reads of single points count by their time alone, since a
 * value may have megabytes; the first of them that a turn meets runs in it, whatever came before.
 */
export function isLate(
  { singlePoint }: { readonly singlePoint: boolean },
  ranBefore: number,
  pace: Pacing,
): boolean {
  return singlePoint ? ranBefore > 0 && pace.isDue(true) : pace.isDue();
}

/** What all reads of a node share. */
export interface ReadMeans {
  readonly lookups: Lookups;
  readonly pace: Pacing;
  readonly ranges: RangeRoom;
}

/**
 * What came of a read, or what it is to wait for, to be run as a whole then: `room` for values that are
 * large, or a place among ranges.
 */
export type ReadOutcome = LineResult[] | 'room' | RangeSize;

/**
 * Runs lines in order; the first that needs ranges moves the rest onto one snapshot, and so does what
 * was read when it is a turn's work: 512 GETBITs of 16 MiB are 8 GiB. The snapshot is of this turn, so
 * it shows nothing older than the lines before saw, also beside an engine batch. For that the read has a
 * place (it keeps one that it has): whoever calls gives it back when all is over.
 */
export function runReads(
  read: RangeRead,
  engine: ReadEngine,
  context: RunContext,
  { lookups, pace, ranges }: ReadMeans,
): ReadOutcome | Promise<ReadOutcome> {
  const { batch } = read;
  const { lines, room } = batch;
  const view = new BatchView(engine, lookups);
  const results: LineResult[] = [];
  const bytesMax = bytesMaxOf(read);
  let bytes = 0;
  /** Undefined once this turn has no more time for what is known. */
  let { hot } = engine;
  for (let at = 0; at < lines.length; at++) {
    if (bytes > bytesMax) {
      cutShort(results, lines.length);
      break;
    }
    const started = startLine(batch, at, view, context);
    if (!('kind' in started) && at > 0 && pace.isDue()) hot = undefined;
    const begun = 'kind' in started ? started : beginKnown(started, hot, pace);
    const isRun = 'run' in begun;
    if (!isRun) {
      bytes += replyBytes(begun);
      results.push({ ok: true, reply: begun });
      if (view.bytesRead < LARGE_RECORD_BYTES || at === lines.length - 1) continue;
      if (!view.opener.isDone && room?.mayBeginLarge === false) return 'room';
    }
    if (!hasPlace(read, ranges)) {
      if (results.length === 0) return read.size;
      cutShort(results, lines.length);
      break;
    }
    const course = { read, engine, view, context: { pace, ...context }, results };
    const rest = runOnStates(course, isRun ? begun : undefined);
    return rest.then<ReadOutcome>((wait) => wait ?? checked(results, view.opener, pace));
  }
  if (view.opener.isDone) return results;
  return room?.mayBeginLarge === false ? 'room' : checked(results, view.opener, pace);
}

function hasPlace(read: RangeRead, ranges: RangeRoom): boolean {
  if (read.singlePoint) return true;
  read.place ??= ranges.begin(read.size);
  return read.place !== undefined;
}

async function checked(
  results: LineResult[],
  opener: RecordOpener,
  pace: Pacing,
): Promise<LineResult[]> {
  await opener.checkInSteps(pace);
  return results;
}
