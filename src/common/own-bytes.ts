/** Memory of their own for bytes that are kept and are views into what is much larger. */
import { viewIn } from './bytes.ts';

/** Memory that is so much larger than what is seen of it is not worth another. */
const SPARE_BYTES = 256;

export interface OwnBytes {
  /** A copy of what keeps much larger memory alive; other bytes as they are. */
  move(bytes: Buffer): Buffer;
}

/** One memory for all that `walk` shows; undefined: none of it keeps much larger memory alive. */
export function ownBytes(walk: (see: OwnBytes['move']) => void): OwnBytes | undefined {
  let total = 0;
  walk((bytes) => {
    if (pinsMore(bytes)) total += bytes.length;
    return bytes;
  });
  if (total === 0) return undefined;
  const memory = Buffer.allocUnsafeSlow(total);
  let end = 0;
  const move = (bytes: Buffer) => {
    if (!pinsMore(bytes)) return bytes;
    const at = end;
    end += bytes.copy(memory, at);
    return viewIn(memory.buffer, 0, at, end);
  };
  return { move };
}

/** The same bytes, as `ownBytes` has them. */
export function ownList(all: readonly Buffer[]): readonly Buffer[] {
  const own = ownBytes((see) => {
    for (const bytes of all) see(bytes);
  });
  return own === undefined ? all : all.map((bytes) => own.move(bytes));
}

function pinsMore(bytes: Buffer): boolean {
  return bytes.buffer.byteLength > 2 * bytes.length + SPARE_BYTES;
}
