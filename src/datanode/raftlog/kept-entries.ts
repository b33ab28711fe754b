/**
 * Entries as the log keeps them in memory. What comes from a peer is a view into a frame that holds
 * entries of many groups: the few of a quiet group would keep what came for busy ones alive for as
 * long as they are the group's newest.
 */
import { POOL_MEMORY_MAX } from '../../common/buffer-pools.ts';
import { viewIn } from '../../common/bytes.ts';
import type { Entry } from '../raft/message.ts';

/** The same entries; those that are a small part of the memory they lie in have memory of their own. */
export function keptEntries(entries: readonly Entry[]): readonly Entry[] {
  let kept: Entry[] | undefined;
  for (let from = 0; from < entries.length; ) {
    const memory = entries[from]!.data.buffer;
    let [to, bytes] = [from, 0];
    while (to < entries.length && entries[to]!.data.buffer === memory) {
      bytes += entries[to++]!.data.length;
    }
    // what `Buffer` cuts small ones out of is not worth a copy
    if (memory.byteLength > POOL_MEMORY_MAX + 2 * bytes) {
      kept ??= [...entries];
      move(kept, from, to, bytes);
    }
    from = to;
  }
  return kept ?? entries;
}

/** Into one memory: they are let go one after the other, and soon. */
function move(entries: Entry[], from: number, to: number, bytes: number): void {
  const { buffer, byteOffset } = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let next = from; next < to; next++) {
    const { term, index, kind, data } = entries[next]!;
    const own = viewIn(buffer, byteOffset, at, at + data.length);
    own.set(data);
    at += data.length;
    entries[next] = { term, index, kind, data: own };
  }
}
