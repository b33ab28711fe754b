/** What an engine of a simulated node holds. One image alone: those before it may be forgotten. */
import type { BatchOperations, EngineSnapshot } from '../../src/datanode/engine/engine.ts';
import {
  closedError,
  copyOperation,
  MemoryReader,
  MemorySnapshot,
} from '../../src/datanode/engine/memory.ts';
import { OrderedImage } from '../../src/datanode/engine/ordered-image.ts';

const EVERYTHING = { gte: Buffer.alloc(0), lt: Buffer.alloc(8, 0xff) };

/** A read is over by the next microtask. */
const AT_ONCE = () => Promise.resolve();

export class EngineImage extends MemoryReader {
  #image = OrderedImage.empty;
  #closed = false;

  constructor() {
    super(() => this.#open, AT_ONCE);
  }

  /** The value itself: not to be changed, and gone with the next write. */
  peek(key: Buffer): Buffer | undefined {
    return this.#image.get(key);
  }

  snapshot(): EngineSnapshot {
    return new MemorySnapshot(this.#open, AT_ONCE);
  }

  approximateBytes(): number {
    const pairs = this.#open.read(EVERYTHING, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    return pairs.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  }

  apply(operations: BatchOperations): void {
    this.#image = this.#open.apply(Array.from(operations, copyOperation));
  }

  close(): void {
    this.#closed = true;
  }

  get #open(): OrderedImage {
    if (this.#closed) throw closedError();
    return this.#image;
  }
}
