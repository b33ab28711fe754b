/**
 * The stream that a Redis sends its replicas, as commands. Pure. Each is told with the bytes that it took,
 * which is what offsets count.
 */
import { limits } from '../../../common/limits.ts';

export interface StreamCommand {
  readonly args: readonly Buffer[];
  /** Bytes of the stream up to its end, since the parser began. */
  readonly end: number;
}

const [STAR, DOLLAR, CR, LF] = [0x2a, 0x24, 0x0d, 0x0a];
/** No length takes more bytes. */
const LINE_BYTES_MAX = 32;
/** What a Redis takes as one string unless it is told otherwise. */
const BULK_BYTES_MAX = limits.requestBulkBytesMax;

export class StreamParser {
  #bytes: Buffer = Buffer.alloc(0);
  #later: Buffer[] = [];
  #laterBytes = 0;
  /** Of the stream, where `#bytes` begins. */
  #start = 0;
  /** Without so many bytes there is nothing to try. */
  #needed = 0;

  push(chunk: Buffer): void {
    this.#later.push(chunk);
    this.#laterBytes += chunk.length;
  }

  /** Undefined: more bytes are needed. Throws for what is no stream of commands. */
  next(): StreamCommand | undefined {
    if (this.#bytes.length < this.#needed || this.#bytes.length === 0) {
      if (this.#laterBytes === 0) return undefined;
      if (this.#bytes.length + this.#laterBytes < this.#needed) return undefined;
      this.#join();
    }
    // a Redis keeps the link alive with empty lines
    let from = 0;
    while (this.#bytes[from] === LF) from++;
    const found = this.#command(from);
    if (found === undefined && this.#laterBytes > 0) {
      this.#join();
      return this.next();
    }
    if (found === undefined) return undefined;
    this.#bytes = this.#bytes.subarray(found.end);
    this.#start += found.end;
    this.#needed = 0;
    return { args: found.args, end: this.#start };
  }

  #command(from: number): { readonly args: Buffer[]; readonly end: number } | undefined {
    const count = this.#number(from, STAR);
    if (count === undefined) return undefined;
    const args: Buffer[] = [];
    let at = count.end;
    for (let left = count.value; left > 0; left--) {
      const length = this.#number(at, DOLLAR);
      if (length === undefined) return undefined;
      const end = length.end + length.value;
      if (length.value > BULK_BYTES_MAX) throw damaged(this.#start + at);
      if (this.#bytes.length < end + 2) {
        this.#needed = end + 2;
        return undefined;
      }
      args.push(this.#bytes.subarray(length.end, end));
      at = end + 2;
    }
    return { args, end: at };
  }

  #number(at: number, kind: number): { readonly value: number; readonly end: number } | undefined {
    if (at >= this.#bytes.length) return this.#more();
    if (this.#bytes[at] !== kind) throw damaged(this.#start + at);
    const line = this.#bytes.indexOf(CR, at);
    if (line < 0 && this.#bytes.length - at < LINE_BYTES_MAX) return this.#more();
    const text = this.#bytes.toString('latin1', at + 1, line);
    if (line < 0 || line - at > LINE_BYTES_MAX || !/^\d+$/.test(text)) {
      throw damaged(this.#start + at);
    }
    if (this.#bytes.length < line + 2) return this.#more();
    return { value: Number(text), end: line + 2 };
  }

  #more(): undefined {
    this.#needed = this.#bytes.length + 1;
    return undefined;
  }

  #join(): void {
    const all = [this.#bytes, ...this.#later];
    this.#bytes = this.#bytes.length === 0 && all.length === 2 ? all[1]! : Buffer.concat(all);
    [this.#later, this.#laterBytes] = [[], 0];
  }
}

function damaged(at: number): Error {
  return new Error(`at byte ${at} of the stream of commands there is none`);
}
