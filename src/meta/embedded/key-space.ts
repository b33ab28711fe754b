/** Live keys in byte order. */
import type { KeyValue } from './messages.ts';

/** Bytes as a string of the same order: one character per byte. */
export function keyText(key: Buffer): string {
  return key.toString('latin1');
}

/** Whether `key` lies in etcd's range: `end` empty is one key, one zero byte is no upper bound. */
export function inRange(key: string, start: string, end: string): boolean {
  if (end === '') return key === start;
  return key >= start && (end === '\0' || key < end);
}

export class KeySpace {
  readonly #items = new Map<string, KeyValue>();
  /** Sorted; metadata is thousands of keys, so an insertion by copy costs microseconds. */
  readonly #order: string[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): KeyValue | undefined {
    return this.#items.get(key);
  }

  set(item: KeyValue): void {
    const key = keyText(item.key);
    const previous = this.#items.get(key);
    if (previous === undefined) this.#order.splice(this.#indexOf(key), 0, key);
    else this.#bytes -= previous.key.length + previous.value.length;
    this.#bytes += item.key.length + item.value.length;
    this.#items.set(key, item);
  }

  /** Returns what was there. */
  delete(key: string): KeyValue | undefined {
    const previous = this.#items.get(key);
    if (previous === undefined) return undefined;
    this.#items.delete(key);
    this.#order.splice(this.#indexOf(key), 1);
    this.#bytes -= previous.key.length + previous.value.length;
    return previous;
  }

  *all(): Generator<KeyValue> {
    for (const key of this.#order) yield this.#items.get(key)!;
  }

  /** Items of etcd's range, in order; the space must not change meanwhile. */
  *range(start: Buffer, end: Buffer): Generator<KeyValue> {
    const first = keyText(start);
    const last = keyText(end);
    for (let i = this.#indexOf(first); i < this.#order.length; i++) {
      const key = this.#order[i]!;
      if (!inRange(key, first, last)) return;
      yield this.#items.get(key)!;
    }
  }

  #indexOf(key: string): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
