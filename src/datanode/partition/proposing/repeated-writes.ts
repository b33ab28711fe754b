/**
 * Large writes under a session that are asked for again while their first try is on its way. A second
 * entry would be as large, and would keep the first from ever being committed where links or disks are
 * slow: each try that is told nothing within its deadline would add another. So who asks again waits
 * for the entry that is there. What is small is proposed again, and the session answers it.
 */
import { limits } from '../../../common/limits.ts';
import { isOnceLine } from '../../commands/sessions/once-line.ts';
import type { CommandBatch, LineResult } from '../entries/batch.ts';
import type { EntryDraft, Segment, Waiter } from './entry-drafts.ts';

/** From so many bytes on an entry is looked at. */
const LARGE_BYTES = limits.raftMessageBytesMax;

export interface AskedEntry {
  readonly segments: readonly Segment[];
  readonly isLarge: boolean;
  deadlineMs: number;
  /** Those of it who can ask again have been told so. */
  told: boolean;
}

export function isLarge({ bytes }: EntryDraft): boolean {
  return bytes >= LARGE_BYTES;
}

/** The outcome of the entry among `pending` that has `batch` already; undefined: none has. */
export function askedBefore(
  pending: readonly AskedEntry[],
  batch: CommandBatch,
): Promise<readonly LineResult[]> | undefined {
  let mark: Mark | undefined;
  for (const entry of pending) {
    if (!entry.isLarge) continue;
    mark ??= markOf(batch);
    if (mark === undefined) return undefined;
    const known = mark;
    const same = entry.segments.find(({ waiter }) => isSame(waiter.batch, batch, known));
    if (same !== undefined) return join(entry, same.waiter, batch);
  }
  return undefined;
}

/** Whoever asked first, and has not been told anything, is told what this one is. */
function join(
  entry: AskedEntry,
  waiter: Waiter,
  { deadlineMs }: CommandBatch,
): Promise<readonly LineResult[]> {
  const { resolve: before } = waiter;
  const isFirstTold = entry.told;
  entry.told = false;
  entry.deadlineMs = Math.max(entry.deadlineMs, deadlineMs);
  return new Promise((resolve) => {
    waiter.resolve = (results) => {
      if (!isFirstTold) before(results);
      resolve(results);
    };
  });
}

interface Mark {
  readonly id: Buffer;
  readonly sequence: string;
}

function isSame(one: CommandBatch, other: CommandBatch, { id, sequence }: Mark): boolean {
  if (one.lines.length !== other.lines.length) return false;
  const mark = markOf(one);
  return mark !== undefined && mark.sequence === sequence && mark.id.equals(id);
}

/** Of a batch that takes effect once, or a command that its client sent so. */
function markOf({ once, lines }: CommandBatch): Mark | undefined {
  if (once !== undefined) return { id: once.id, sequence: String(once.sequence) };
  const [line] = lines;
  if (lines.length !== 1 || !isOnceLine(line!)) return undefined;
  const [, id, sequence] = line!;
  if (id === undefined || sequence === undefined) return undefined;
  return { id, sequence: sequence.toString('latin1') };
}
