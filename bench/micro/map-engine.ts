/**
 * The least that an engine can cost: point reads and writes of a Map. It has no order, so nothing can
 * be walked: strings, and what is only appended, are all it serves.
 */
import type {
  BatchOperations,
  Engine,
  EngineIterator,
  EngineSnapshot,
} from '../../src/datanode/engine/engine.ts';

export class MapEngine implements Engine {
  readonly #values = new Map<string, Buffer>();
  readonly #isKept: (key: Buffer) => boolean;

  constructor(isKept: (key: Buffer) => boolean = () => true) {
    this.#isKept = isKept;
  }

  getSync(key: Buffer): Buffer | undefined {
    return this.#values.get(key.toString('latin1'));
  }

  async write(operations: BatchOperations): Promise<void> {
    for (const operation of operations) {
      if (!this.#isKept(operation.key)) continue;
      const key = operation.key.toString('latin1');
      if (operation.type === 'put') this.#values.set(key, operation.value);
      else this.#values.delete(key);
    }
  }

  iterate(): EngineIterator {
    throw new Error('a map has no order');
  }

  snapshot(): EngineSnapshot {
    throw new Error('a map keeps no state of before');
  }

  async clearRange(): Promise<void> {
    throw new Error('a map has no order');
  }

  async approximateBytes(): Promise<number> {
    return 0;
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {}
}
