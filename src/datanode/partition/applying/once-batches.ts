/**
 * Batches of an entry that take effect once (gateways send those they forward under a session):
 * before the first command of one the session is asked whether it has run; if so all its commands
 * answer what was kept, otherwise what they answer is kept behind the last.
 */
import { DONE, decodeKept, encodeKept } from '../../commands/sessions/kept-reply.ts';
import { askOnce, hasRun, keepOnce } from '../../encoding/sessions/sessions.ts';
import type { Txn } from '../../encoding/txn/txn.ts';
import type { View } from '../../encoding/txn/view.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { OnceLines } from '../entries/envelope.ts';

/** Known by identity: no client sees them, the node that sent the batch is told a code. */
export const BATCH_LOST = {
  kind: 'error',
  text: 'the session is not known',
} as const satisfies Reply;
export const BATCH_FULL = {
  kind: 'error',
  text: 'the session has too many replies that it has not confirmed',
} as const satisfies Reply;

export class OnceBatches {
  readonly #batches: readonly OnceLines[];
  readonly #nowMs: number;
  /** Where the entry empties the partition. */
  readonly #flushAt: number;
  #next = 0;
  /** What the commands of the batch under way have answered. */
  #replies: Reply[] = [];
  /** What they answer without being run. */
  #instead: readonly Reply[] | undefined;

  constructor(batches: readonly OnceLines[], nowMs: number, flushAt = -1) {
    this.#batches = batches;
    this.#nowMs = nowMs;
    this.#flushAt = flushAt;
  }

  /** All that is before the command that empties has been done in an earlier life. */
  skipToFlush(): void {
    while (this.#next < this.#batches.length) {
      const { first, count } = this.#batches[this.#next]!;
      if (first + count > this.#flushAt) {
        for (let at = first; at < this.#flushAt; at++) this.#replies.push(LOST_BY_FLUSH);
        return;
      }
      this.#next++;
    }
  }

  /** What the command at `at` answers without being run; undefined: it runs. In order. */
  before(txn: Txn, at: number): Reply | undefined {
    const batch = this.#batchAt(at);
    if (batch === undefined) return undefined;
    if (at === batch.first) this.#instead = this.#ask(txn, batch);
    return this.#instead?.[at - batch.first];
  }

  /** What it has answered. */
  after(txn: Txn, at: number, reply: Reply): void {
    const batch = this.#batchAt(at);
    if (batch === undefined) return;
    // what this replica may have to apply again without it is kept by none
    const isLost = at < this.#flushAt && this.#holdsFlush(batch);
    this.#replies.push(isLost ? LOST_BY_FLUSH : reply);
    if (at + 1 < batch.first + batch.count) return;
    if (this.#instead === undefined) keepOnce(txn, batch, encodeKept(this.#replies));
    this.#next++;
    this.#replies = [];
  }

  #batchAt(at: number): OnceLines | undefined {
    const batch = this.#batches[this.#next];
    return batch !== undefined && at >= batch.first ? batch : undefined;
  }

  #ask(txn: Txn, batch: OnceLines): readonly Reply[] | undefined {
    const standing = askOnce(txn, batch, this.#nowMs);
    if (this.#holdsFlush(batch)) return undefined;
    const all = (reply: Reply) => Array.from({ length: batch.count }, () => reply);
    switch (standing.kind) {
      case 'new':
        return undefined;
      case 'kept':
        return decodeKept(standing.reply, batch.count);
      case 'passed':
        return all(DONE);
      case 'lost':
        return all(BATCH_LOST);
      case 'full':
        return all(BATCH_FULL);
    }
  }

  /** That it runs was found before. */
  #holdsFlush({ first, count }: OnceLines): boolean {
    return this.#flushAt >= first && this.#flushAt < first + count;
  }
}

/** Whether the command at `at` belongs to a batch that will not run (again). */
export function isOver(view: View, batches: readonly OnceLines[], at: number): boolean {
  const mine = batches.findIndex(({ first, count }) => at >= first && at < first + count);
  const batch = batches[mine];
  if (batch === undefined) return false;
  const isSame = ({ id, sequence }: OnceLines) =>
    sequence === batch.sequence && id.equals(batch.id);
  return batches.slice(0, mine).some(isSame) || hasRun(view, batch);
}

/** For whoever waits for a reply of an entry that this replica has applied only in part itself. */
export const LOST_BY_FLUSH = error(
  'DONE the command was carried out, and a FLUSHALL after it; its reply was lost',
);
