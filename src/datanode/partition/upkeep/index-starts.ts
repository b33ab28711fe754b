/**
 * Where the indexes of deadlines begin, as far as somebody has looked. What was deleted of them lies in
 * front of what is left, and LevelDB passes over all of it until it has merged it away: a backlog that
 * goes a thousand at a time would be walked from its beginning again for every thousand.
 */
import { decodeExpiryKey, type Expiring } from '../../encoding/expiry/expiry.ts';
import type { KeyRange } from '../../engine/engine.ts';

/** A look at the beginning of an index that is under way. */
export interface Look {
  readonly expiring: Expiring;
  /** The earliest deadline that was written since it began. */
  writtenMs: number;
}

export class IndexStarts {
  /** Nothing lies before these keys of the engine; undefined: nobody knows. */
  readonly #starts: Record<Expiring, Buffer | undefined> = { keys: undefined, fields: undefined };
  readonly #looks = new Set<Look>();

  /** What of `range`, which is from the beginning of an index on, is worth a look. */
  begin(expiring: Expiring, range: KeyRange): { readonly look: Look; readonly range: KeyRange } {
    const look = { expiring, writtenMs: Number.POSITIVE_INFINITY };
    this.#looks.add(look);
    const start = this.#starts[expiring];
    const isBehind = start !== undefined && start.compare(range.gte) > 0;
    return { look, range: isBehind ? { ...range, gte: start } : range };
  }

  /** Its first entry is `first`; undefined: it failed, or there is none. */
  end(look: Look, first: Buffer | undefined): void {
    this.#looks.delete(look);
    if (first === undefined || look.writtenMs <= decodeExpiryKey(first).deadlineMs) return;
    this.#starts[look.expiring] = first;
  }

  /** Entries were put into the indexes, of which this is the earliest deadline. */
  written(deadlineMs: number): void {
    for (const look of this.#looks) look.writtenMs = Math.min(look.writtenMs, deadlineMs);
    for (const expiring of ['keys', 'fields'] as const) {
      const start = this.#starts[expiring];
      if (start === undefined || deadlineMs > decodeExpiryKey(start).deadlineMs) continue;
      this.#starts[expiring] = undefined;
    }
  }

  /** Anything may be in them. */
  forget(): void {
    this.written(Number.NEGATIVE_INFINITY);
  }
}
