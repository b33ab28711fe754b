/** An engine that counts the records it is asked for. */
import type { Engine, EngineIterator } from '../../../src/datanode/engine/engine.ts';

export interface CountedEngine {
  readonly engine: Engine;
  /** Records read since the last call. */
  takeReads(): number;
}

export function countReads(inner: Engine): CountedEngine {
  let reads = 0;
  const counted = (iterator: EngineIterator): EngineIterator => ({
    async next(count) {
      const pairs = await iterator.next(count);
      reads += pairs.length;
      return pairs;
    },
    close: () => iterator.close(),
  });
  const engine: Engine = {
    getSync(key) {
      reads++;
      return inner.getSync(key);
    },
    iterate: (range) => counted(inner.iterate(range)),
    snapshot: () => inner.snapshot(),
    approximateBytes: () => inner.approximateBytes(),
    write: (operations) => inner.write(operations),
    clearRange: (range) => inner.clearRange(range),
    sync: () => inner.sync(),
    close: () => inner.close(),
  };
  return {
    engine,
    takeReads() {
      const taken = reads;
      reads = 0;
      return taken;
    },
  };
}
