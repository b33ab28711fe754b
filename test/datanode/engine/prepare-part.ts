/** What LargeWrites asks of a store that takes arrays. */
import type { BatchOperation } from '../../../src/datanode/engine/engine.ts';
import type { PartTarget } from '../../../src/datanode/engine/large-write.ts';

export function preparing(
  batch: (operations: BatchOperation[]) => Promise<void>,
): PartTarget['prepare'] {
  return async (operations, bytes) => {
    const part: BatchOperation[] = [];
    for (let left = bytes; left > 0; ) {
      const { done, value } = operations.next();
      if (done) return { isLast: true, write: () => batch(part) };
      part.push(value);
      left -= value.key.length + (value.type === 'put' ? value.value.length : 0);
    }
    return { isLast: false, write: () => batch(part) };
  };
}
