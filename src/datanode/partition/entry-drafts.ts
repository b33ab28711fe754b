/** Entries as they are drafted: lines that were gathered, packed by what they take. */
import { limits } from '../../common/limits.ts';
import type { CommandBatch, CommandLine, LineResult } from './batch.ts';
import { lineBytes, type OnceLines } from './envelope.ts';
import { growthOf } from './line-growth.ts';

/** A batch whose lines settle one after the other. */
export interface Waiter {
  readonly batch: CommandBatch;
  readonly results: LineResult[];
  readonly resolve: (results: readonly LineResult[]) => void;
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
  /** What its lines pad values by. */
  paddedBytes: number;
}

/**
 * Packs lines into entries of at most entryBytesMax (one longer line has an entry of its own, and so
 * has a longer batch that takes effect as a whole).
 */
export function draftEntries(waiters: readonly Waiter[]): EntryDraft[] {
  const drafts: EntryDraft[] = [];
  for (const waiter of waiters) {
    const { lines, once } = waiter.batch;
    if (once === undefined) {
      for (const line of lines) addTo(draftFor(drafts, [line]), waiter, line);
      continue;
    }
    const draft = draftFor(drafts, lines);
    draft.once.push({ first: draft.lines.length, count: lines.length, ...once });
    for (const line of lines) addTo(draft, waiter, line);
  }
  return drafts;
}

/** The last of `drafts` when there is room in it for `lines`, whose bytes are counted; else a new one. */
function draftFor(drafts: EntryDraft[], lines: readonly CommandLine[]): EntryDraft {
  let bytes = 0;
  let paddedBytes = 0;
  for (const line of lines) {
    bytes += lineBytes(line);
    paddedBytes += growthOf(line);
  }
  let draft = drafts.at(-1);
  const isFull =
    draft !== undefined &&
    draft.bytes > 0 &&
    draft.bytes + draft.paddedBytes + bytes + paddedBytes > limits.entryBytesMax;
  if (draft === undefined || isFull) {
    draft = { lines: [], once: [], segments: [], bytes: 0, paddedBytes: 0 };
    drafts.push(draft);
  }
  draft.bytes += bytes;
  draft.paddedBytes += paddedBytes;
  return draft;
}

function addTo({ lines, segments }: EntryDraft, waiter: Waiter, line: CommandLine): void {
  lines.push(line);
  const last = segments.at(-1);
  if (last?.waiter === waiter) last.count++;
  else segments.push({ waiter, count: 1 });
}
