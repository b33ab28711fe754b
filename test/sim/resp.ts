/** RESP as clients of simulated nodes speak it: requests to bytes, and replies out of chunks. */
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';

const DOLLAR = 0x24;
/** What holds so many replies for each that it counts: arrays, sets, pushes and maps. */
const HOLDS: ReadonlyMap<number | undefined, number> = new Map([
  [0x2a, 1],
  [0x7e, 1],
  [0x3e, 1],
  [0x25, 2],
]);

export function encodeRequest(words: readonly (string | Buffer | number)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** Where the reply that begins at `at` ends; -1: not all of it is there. */
export function replyEnd(bytes: Buffer, at: number): number {
  const line = bytes.indexOf('\r\n', at);
  if (line === -1) return -1;
  let end = line + 2;
  const kind = bytes[at];
  const holds = HOLDS.get(kind);
  if (holds === undefined && kind !== DOLLAR) return end;
  const count = Number(bytes.toString('latin1', at + 1, line));
  if (holds === undefined) end += count < 0 ? 0 : count + 2;
  else for (let left = count * holds; left > 0 && end !== -1; left--) end = replyEnd(bytes, end);
  return end > bytes.length ? -1 : end;
}

/** Takes chunks as they come, gives replies as they are whole. */
export class ReplyReader {
  #received: Buffer = Buffer.alloc(0);

  /** Throws BAD_FRAME for what is no reply. */
  take(chunk: Buffer): Reply[] {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const replies: Reply[] = [];
    for (;;) {
      const end = this.#received.length === 0 ? -1 : replyEnd(this.#received, 0);
      if (end === -1) break;
      replies.push(decodeReply(this.#received.subarray(0, end)));
      this.#received = this.#received.subarray(end);
    }
    // a chunk belongs to the stream
    this.#received = Buffer.from(this.#received);
    return replies;
  }
}
