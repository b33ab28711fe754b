/**
 * A frame with megabytes in it, made in steps: to copy them and to sum them up at once, and for each
 * follower again, holds the event loop for 10 ms and more.
 */
import { crc32 } from '../../common/checksum.ts';
import type { Steps } from '../../common/slices.ts';
import { FRAME_HEADER_BYTES, FrameWriter, writeFrameHead, writeFrameSum } from './frame.ts';

/** Bytes from this size on are left where they are until the frame is made. */
const APART_BYTES = 262_144;
const STEP_BYTES = 65_536;

/** Takes a frame's body; what is large of it is not copied yet. */
export class LargeBody extends FrameWriter {
  /** Each belongs at a place of what was written beside it. */
  readonly #apart: { readonly at: number; readonly bytes: Uint8Array }[] = [];

  override raw(bytes: Uint8Array): this {
    if (bytes.length < APART_BYTES) return super.raw(bytes);
    this.#apart.push({ at: this.length, bytes });
    return this;
  }

  /** The whole frame; nothing of what it took may change until it is made. */
  *frame(channel: number): Steps<Buffer> {
    const parts = this.#parts();
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const frame = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES + length);
    let crc = writeFrameHead(frame, 0, channel, length);
    let at = FRAME_HEADER_BYTES;
    for (const part of parts) {
      for (let from = 0; from < part.length; from += STEP_BYTES) {
        if (at > FRAME_HEADER_BYTES) yield;
        const step = part.subarray(from, from + STEP_BYTES);
        frame.set(step, at);
        crc = crc32(step, crc);
        at += step.length;
      }
    }
    writeFrameSum(frame, 0, crc);
    return frame;
  }

  #parts(): Uint8Array[] {
    const beside = this.take();
    const parts: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of this.#apart) {
      parts.push(beside.subarray(from, at), bytes);
      from = at;
    }
    return [...parts, beside.subarray(from)];
  }
}
