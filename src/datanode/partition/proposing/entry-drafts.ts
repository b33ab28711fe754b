/** Entries as they are drafted: lines that were gathered, packed by what they take. */
import { limits } from '../../../common/limits.ts';
import { scriptsIn } from '../../commands/table/runs-anything.ts';
import type { CommandBatch, CommandLine, LineResult } from '../entries/batch.ts';
import { lineBytes, type OnceLines } from '../entries/envelope.ts';
import type { ValueSizes, Weighing, Weights } from './value-sizes.ts';

/** A batch whose lines settle one after the other. */
export interface Waiter {
  readonly batch: CommandBatch;
  readonly results: LineResult[];
  resolve: (results: readonly LineResult[]) => void;
}

/** Consecutive lines of one batch within one entry. */
export interface Segment {
  readonly waiter: Waiter;
  count: number;
}

export interface EntryDraft {
  readonly lines: CommandLine[];
  readonly once: OnceLines[];
  readonly segments: Segment[];
  bytes: number;
  /** Of values that its lines put and did not bring, and of each of them. */
  valueBytes: number;
  /** That its lines run. */
  scripts: number;
  weights: Weights | undefined;
}

export interface Drafts {
  readonly drafts: EntryDraft[];
  /** How many of the waiters, the first ones, are in them. */
  readonly count: number;
}

/**
 * Packs lines into entries of at most entryBytesMax, what they put of stored values included (one longer
 * line has an entry of its own, and so has a longer batch that takes effect as a whole). `mayLeave`:
 * once enough stored values were looked at in this turn, the waiters behind are left for the next.
 */
export function draftEntries(
  waiters: readonly Waiter[],
  values: ValueSizes,
  mayLeave = true,
): Drafts {
  const drafts: EntryDraft[] = [];
  let count = 0;
  for (const waiter of waiters) {
    if (mayLeave && count > 0 && values.isSpent) break;
    count++;
    const { lines, once } = waiter.batch;
    if (once === undefined) {
      for (const line of lines) addTo(draftFor(drafts, [line], values, true), waiter, line);
      continue;
    }
    const draft = draftFor(drafts, lines, values, false);
    draft.once.push({ first: draft.lines.length, count: lines.length, ...once });
    for (const line of lines) addTo(draft, waiter, line);
  }
  return { drafts, count };
}

/** The last of `drafts` when there is room in it for `lines`, whose bytes are counted; else a new one. */
function draftFor(
  drafts: EntryDraft[],
  lines: readonly CommandLine[],
  values: ValueSizes,
  mayRefuse: boolean,
): EntryDraft {
  let bytes = 0;
  let scripts = 0;
  let weighing: Weighing | undefined;
  for (const line of lines) {
    bytes += lineBytes(line);
    scripts += scriptsIn(line);
    weighing = values.weigh(line, mayRefuse, weighing);
  }
  let draft = drafts.at(-1);
  const isFull = draft !== undefined && scripts > 0 && !hasRoomForScripts(draft, scripts);
  if (draft === undefined || isFull || !hasRoom(draft, bytes, weighing)) {
    draft = newDraft();
    drafts.push(draft);
  }
  draft.bytes += bytes;
  draft.scripts += scripts;
  if (weighing?.weights !== undefined) take(draft, weighing.weights);
  return draft;
}

function newDraft(): EntryDraft {
  const counts = { bytes: 0, valueBytes: 0, scripts: 0 };
  return { lines: [], once: [], segments: [], ...counts, weights: undefined };
}

/**
 * What scripts put is not known before: all of an entry is held by every replica at once, and none of it
 * is answered before the last has ended. So few of them share one; a transaction's have to.
 */
function hasRoomForScripts(draft: EntryDraft, scripts: number): boolean {
  return draft.scripts === 0 || draft.scripts + scripts <= limits.scriptsPerEntryMax;
}

/** Lines that put nothing stored, or what the draft puts in any case, add but their own bytes to it. */
function hasRoom(draft: EntryDraft, bytes: number, weighing: Weighing | undefined): boolean {
  if (draft.bytes === 0) return true;
  let total = draft.bytes + bytes;
  if (weighing === undefined || total > limits.entryBytesMax) return total <= limits.entryBytesMax;
  let added = 0;
  for (const [key, weight] of weighing.weights ?? []) added += addedTo(draft, key, weight);
  if (added === 0 && weighing.weights !== undefined) return true;
  total += draft.valueBytes + added;
  return total <= limits.entryBytesMax;
}

function addedTo({ weights }: EntryDraft, key: string, weight: number): number {
  return Math.max(0, weight - (weights?.get(key) ?? 0));
}

function take(draft: EntryDraft, weights: Weights): void {
  for (const [key, weight] of weights) {
    const added = addedTo(draft, key, weight);
    if (added === 0) continue;
    draft.valueBytes += added;
    draft.weights ??= new Map();
    draft.weights.set(key, weight);
  }
}

function addTo({ lines, segments }: EntryDraft, waiter: Waiter, line: CommandLine): void {
  lines.push(line);
  const last = segments.at(-1);
  if (last?.waiter === waiter) last.count++;
  else segments.push({ waiter, count: 1 });
}
