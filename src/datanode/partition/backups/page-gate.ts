/**
 * Where a walk over a partition's keys puts what it makes of them: it goes on while a page is not full,
 * and rests before its next range until that has been taken. So whoever takes pages says how fast it goes.
 */
import type { RdbParts } from '../../encoding/rdb/rdb-stream-dump.ts';
import type { RangeSource } from '../../encoding/steps/slices.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';

/** Of one page, unless it is the last. */
export const PAGE_BYTES = 1_048_576;
/** So large a part is not copied together with others. */
const APART_BYTES = 16_384;

export class PageGate implements RdbParts, RangeSource {
  readonly #source: RangeSource;
  #pieces: Buffer[] = [];
  /** Of `#pieces` and what is in `#open`. */
  #bytes = 0;
  #open = Buffer.allocUnsafe(0);
  /** Of `#open`, what is no piece yet. */
  #from = 0;
  #at = 0;
  /** Set while the walk rests. */
  #goOn: (() => void) | undefined;
  #onFull: (() => void) | undefined;

  constructor(source: RangeSource) {
    this.#source = source;
  }

  add(...parts: readonly Buffer[]): void {
    for (const part of parts) {
      this.#bytes += part.length;
      if (part.length >= APART_BYTES) {
        this.#close();
        this.#pieces.push(part);
      } else {
        if (this.#open.length - this.#at < part.length) this.#begin();
        this.#open.set(part, this.#at);
        this.#at += part.length;
      }
    }
  }

  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    if (this.#bytes < PAGE_BYTES) return this.#source.range(range);
    this.#onFull?.();
    return new Promise<void>((resolve) => {
      this.#goOn = resolve;
    }).then(() => this.#source.range(range));
  }

  /** Resolves when there is a page, which there need not ever be. */
  full(): Promise<void> {
    if (this.#goOn !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onFull = resolve;
    });
  }

  /** A page, less at the end; the walk goes on. */
  take(): Buffer {
    this.#close();
    const page = Buffer.allocUnsafe(Math.min(this.#bytes, PAGE_BYTES));
    let at = 0;
    let taken = 0;
    for (; at < page.length; taken++) {
      const piece = this.#pieces[taken]!;
      const copied = piece.copy(page, at);
      at += copied;
      if (copied === piece.length) continue;
      this.#pieces[taken] = piece.subarray(copied);
      break;
    }
    this.#pieces.splice(0, taken);
    this.#bytes -= page.length;
    if (this.#bytes < PAGE_BYTES) this.letGo();
    return page;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** The walk goes on, if it rests. */
  letGo(): void {
    this.#goOn?.();
    this.#goOn = undefined;
  }

  #close(): void {
    if (this.#at > this.#from) this.#pieces.push(this.#open.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }

  #begin(): void {
    this.#close();
    this.#open = Buffer.allocUnsafe(PAGE_BYTES / 4);
    this.#from = 0;
    this.#at = 0;
  }
}
