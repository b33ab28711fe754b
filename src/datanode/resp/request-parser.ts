/**
 * Requests from a byte stream. This walks the framing and guards it: inline commands, RESP3 types
 * and nested arrays, counts and lengths. A small request that came as a whole is cut out where the
 * walk has seen its arguments (a third of the time); of all others redis-parser keeps what has come
 * and decodes it. It sees only checked headers, so it never waits for what a header must not
 * announce, and a large bulk is never allocated before its bytes have come. Those are gathered
 * beside it (`LargeBulk`), and it sees an empty one in their place.
 */
import RedisParser from 'redis-parser';
import { assert, must } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import { ARGUMENT_BYTES, copiesOf } from './argument-memory.ts';
import { splitInline } from './inline.ts';
import { LARGE_BULK_BYTES, LargeBulk } from './large-bulk.ts';

export interface RequestParserOptions {
  /** A request's name and arguments, copied out of the chunk; `bytes` as it came on the wire. */
  onRequest(args: Buffer[], bytes: number): void;
  /** Redis's own text, without `ERR`. Nothing more is parsed: the connection must be closed. */
  onProtocolError(text: string): void;
  /** Longest bulk string; default limits.valueBytesMax. */
  readonly bulkBytesMax?: number;
  /**
   * Whether the client may send more than it needs to say who it is; by default it may. Undefined:
   * that is not known yet. Then what is larger waits where it is, and is asked about again when more
   * comes, or by `resume`.
   */
  mayBeLarge?(): boolean | undefined;
}

export interface RequestParser {
  feed(chunk: Buffer): void;
  /** Keeps further requests back, also those of the chunk being parsed. */
  pause(): void;
  /** Goes on with what was kept. */
  resume(): void;
  /** Memory of what came and was not handed over, near enough. */
  readonly heldBytes: number;
}

/** A header line of at most this many bytes is looked through without a call for its end. */
const SHORT_LINE_BYTES = 32;
/** Arguments of a request that are not copied, unless their mean is longer. */
const ARGUMENTS_MANY = 4_096;
const ARGUMENT_BYTES_SMALL = 1_024;
/** Of a request that is cut out as it is walked. */
const ARGUMENTS_CUT_MAX = 64;
/**
 * Where the arguments of the request that is being walked begin and end, if it began in these bytes.
 * One list for all parsers: it is used up before another request is walked.
 */
const bounds: number[] = [];
const LF = 0x0a;
const CR = 0x0d;
const STAR = 0x2a;
const DOLLAR = 0x24;
/** A handshake of TLS begins so, and no request. */
const HANDSHAKE = 0x16;
export const TLS_HELLO = 'Protocol error: this port does not speak TLS';
const EMPTY_BULK = Buffer.from('$0\r\n\r\n');

export function createRequestParser(options: RequestParserOptions): RequestParser {
  return new GuardedParser(options);
}

class GuardedParser implements RequestParser {
  readonly #options: RequestParserOptions;
  readonly #bulkBytesMax: number;
  readonly #decoder: RedisParser;
  /** Bytes not walked yet: an unfinished header line, or what came while paused. */
  #rest: Buffer | undefined;
  /** So many of them are walked. */
  #at = 0;
  /** Arguments of the current request that have not begun; 0 between requests. */
  #argsLeft = 0;
  /** All of it. */
  #argsCount = 0;
  /** Bytes of the current bulk (its CRLF included) that have not come. */
  #bulkLeft = 0;
  #requestBytes = 0;
  /** The large bulk that is coming. */
  #large: LargeBulk | undefined;
  /** Those of the current request that have come, by the arguments that were left behind them. */
  #gathered: Map<number, Buffer> | undefined;
  #paused = false;
  #failed = false;
  #walking = false;

  constructor(options: RequestParserOptions) {
    this.#options = options;
    this.#bulkBytesMax = Math.min(
      options.bulkBytesMax ?? limits.valueBytesMax,
      limits.requestBulkBytesMax,
    );
    this.#decoder = new RedisParser({
      returnBuffers: true,
      returnReply: (reply: unknown) => this.#deliver(reply as Buffer[]),
      returnError: () => assert(false, 'requests hold no error replies'),
      returnFatalError: (error: Error) => this.#fail(error.message),
    });
  }

  feed(chunk: Buffer): void {
    if (this.#failed) return;
    const rest = this.#rest;
    this.#rest = rest === undefined ? chunk : Buffer.concat([rest.subarray(this.#at), chunk]);
    this.#at = 0;
    this.#walk();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#walk();
  }

  get heldBytes(): number {
    const restBytes = this.#rest?.length ?? 0;
    if (this.#argsLeft === 0 && this.#bulkLeft === 0) return restBytes;
    return restBytes + this.#requestBytes + (this.#argsCount - this.#argsLeft) * ARGUMENT_BYTES;
  }

  /** Walks `#rest` as far as it is complete. */
  #walk(): void {
    if (this.#walking) return;
    this.#walking = true;
    try {
      while (this.#rest !== undefined && !this.#paused && !this.#failed) {
        if (this.#at === this.#rest.length) break;
        const used = this.#step(this.#rest, this.#at);
        if (used === 0) break;
        this.#at += used;
      }
    } finally {
      this.#walking = false;
      this.#keepRest();
    }
  }

  #keepRest(): void {
    if (this.#rest === undefined) return;
    const rest = this.#at === 0 ? this.#rest : this.#rest.subarray(this.#at);
    this.#at = 0;
    // A short unfinished line must not keep a whole socket chunk alive.
    const isSmall = !this.#paused && rest.buffer.byteLength > 4 * rest.length;
    this.#rest = rest.length === 0 ? undefined : isSmall ? Buffer.from(rest) : rest;
  }

  /** Takes one request, or what there is of it; returns the bytes used, 0 when more must come. */
  #step(bytes: Buffer, start: number): number {
    if (this.#argsLeft === 0 && this.#bulkLeft === 0) {
      if (bytes[start] !== STAR) return this.#inline(bytes.subarray(start));
      const end = this.#lineEnd(bytes, start, 'too big mbulk count string');
      if (end === 0) return 0;
      const count = headerNumber(bytes, start + 1, end);
      if (count === undefined || count > limits.requestArgumentsMax) {
        return this.#fail('Protocol error: invalid multibulk length');
      }
      if (count <= 0) return end - start;
      if (count > limits.requestArgumentsUnknownMax) {
        const may = this.#mayBeLarge();
        if (may === undefined) return 0;
        if (!may) return this.#fail('Protocol error: unauthenticated multibulk length');
      }
      this.#argsLeft = count;
      this.#argsCount = count;
      this.#requestBytes = 0;
      return this.#arguments(bytes, start, end);
    }
    return this.#arguments(bytes, start, start);
  }

  /** Walks bulks from `first`; what was walked is cut out, or handed to the decoder. */
  #arguments(bytes: Buffer, start: number, first: number): number {
    if (this.#large !== undefined) return this.#gather(bytes.subarray(start), this.#large);
    const mayCut = first > start && this.#argsLeft <= ARGUMENTS_CUT_MAX;
    let count = 0;
    let at = first;
    while (at < bytes.length) {
      if (this.#bulkLeft > 0) {
        const taken = Math.min(this.#bulkLeft, bytes.length - at);
        this.#bulkLeft -= taken;
        at += taken;
        if (this.#bulkLeft === 0 && this.#argsLeft === 0) break;
        continue;
      }
      const sign = bytes[at]!;
      const end = this.#lineEnd(bytes, at, 'too big bulk count string');
      if (this.#failed) return 0;
      if (end === 0) break;
      if (sign !== DOLLAR) {
        return this.#fail(`Protocol error: expected '$', got '${String.fromCharCode(sign)}'`);
      }
      const length = headerNumber(bytes, at + 1, end);
      if (length === undefined || length < 0 || length > this.#bulkBytesMax) {
        return this.#fail('Protocol error: invalid bulk length');
      }
      if (length > limits.requestBulkBytesUnknownMax) {
        const may = this.#mayBeLarge();
        if (may === undefined) break;
        if (!may) return this.#fail('Protocol error: unauthenticated bulk length');
      }
      // told as it is announced: memory for a large bulk is asked for long before all of it is there
      if (this.#requestBytes + end - start + length + 2 > limits.requestBytesMax) {
        return this.#fail('Protocol error: too big request');
      }
      this.#argsLeft--;
      this.#bulkLeft = length + 2;
      if (length >= LARGE_BULK_BYTES)
        return this.#beginLarge(bytes.subarray(start, end), at - start, length);
      if (mayCut) {
        bounds[count++] = end;
        bounds[count++] = end + length;
      }
      at = end;
    }
    const isWhole = this.#argsLeft === 0 && this.#bulkLeft === 0;
    if (mayCut && isWhole) return this.#cut(bytes, count, at - start);
    return this.#decode(bytes.subarray(start, at));
  }

  /** A whole request of `length` bytes; no bulk of it is large. */
  #cut(bytes: Buffer, count: number, length: number): number {
    this.#options.onRequest(copiesOf(bytes, bounds, count), length);
    return length;
  }

  /** Its header lies behind `at`. */
  #beginLarge(bytes: Buffer, at: number, length: number): number {
    if (at > 0 && this.#decode(bytes.subarray(0, at)) === 0) return 0;
    this.#requestBytes += bytes.length - at;
    this.#large = new LargeBulk(length);
    return bytes.length;
  }

  /** Returns what it took of `bytes`: of the bulk and its CRLF. */
  #gather(bytes: Buffer, large: LargeBulk): number {
    const taken = Math.min(this.#bulkLeft, bytes.length);
    this.#requestBytes += taken;
    if (this.#requestBytes > limits.requestBytesMax) {
      return this.#fail('Protocol error: too big request');
    }
    large.add(bytes);
    this.#bulkLeft -= taken;
    if (this.#bulkLeft > 0) return taken;
    this.#large = undefined;
    this.#gathered ??= new Map();
    this.#gathered.set(this.#argsLeft, must(large.whole, 'all of it has come'));
    this.#decoder.execute(EMPTY_BULK);
    return taken;
  }

  #decode(bytes: Buffer): number {
    const { length } = bytes;
    if (length === 0) return 0;
    this.#requestBytes += length;
    if (this.#requestBytes > limits.requestBytesMax) {
      return this.#fail('Protocol error: too big request');
    }
    this.#decoder.execute(bytes);
    return this.#failed ? 0 : length;
  }

  #mayBeLarge(): boolean | undefined {
    const { mayBeLarge } = this.#options;
    return mayBeLarge === undefined ? true : mayBeLarge();
  }

  #inline(bytes: Buffer): number {
    if (bytes[0] === HANDSHAKE) return this.#fail(TLS_HELLO);
    const newline = bytes.indexOf(LF);
    if (newline === -1 || newline > limits.requestInlineBytesMax) {
      if (bytes.length <= limits.requestInlineBytesMax) return 0;
      return this.#fail('Protocol error: too big inline request');
    }
    const words = splitInline(bytes.subarray(0, newline));
    if (words === undefined) return this.#fail('Protocol error: unbalanced quotes in request');
    if (words.length > 0) this.#options.onRequest(words, newline + 1);
    return newline + 1;
  }

  /**
   * Index behind the line that begins at `start`; 0 when it is not complete. As in Redis it ends
   * with a carriage return and whatever byte follows, is looked at only when it is complete, and
   * may be as long as an inline command until then.
   */
  #lineEnd(bytes: Buffer, start: number, tooLong: string): number {
    const short = Math.min(bytes.length, start + SHORT_LINE_BYTES);
    let end = start;
    while (end < short && bytes[end] !== CR) end++;
    if (end === start + SHORT_LINE_BYTES) end = bytes.indexOf(CR, end);
    if (end === -1) end = bytes.length;
    if (end - start > limits.requestInlineBytesMax) return this.#fail(`Protocol error: ${tooLong}`);
    return end + 1 < bytes.length ? end + 2 : 0;
  }

  /**
   * At most one allocation per request: no socket chunk stays alive for a small key. Thousands of
   * small arguments fill their chunks themselves and stay where they are.
   */
  #deliver(args: Buffer[]): void {
    let total = 0;
    for (const arg of args) total += arg.length;
    const bytes = this.#requestBytes;
    this.#requestBytes = 0;
    const gathered = this.#gathered;
    this.#gathered = undefined;
    for (const [left, bulk] of gathered ?? []) args[args.length - 1 - left] = bulk;
    if (args.length >= ARGUMENTS_MANY && total < args.length * ARGUMENT_BYTES_SMALL) {
      return this.#options.onRequest(args, bytes);
    }
    // small ones share a pool of 8 KiB: an ArrayBuffer of its own costs more than a small request
    const memory = Buffer.allocUnsafe(total);
    const own: Buffer[] = [];
    let at = 0;
    for (const arg of args) {
      if (gathered !== undefined && arg.length >= LARGE_BULK_BYTES) {
        own.push(arg);
        continue;
      }
      memory.set(arg, at);
      own.push(memory.subarray(at, at + arg.length));
      at += arg.length;
    }
    this.#options.onRequest(own, bytes);
  }

  #fail(text: string): 0 {
    if (!this.#failed) {
      this.#failed = true;
      this.#rest = undefined;
      this.#options.onProtocolError(text);
    }
    return 0;
  }
}

/** The number between `start` and the two bytes before `end`; undefined when it is not one. */
function headerNumber(bytes: Buffer, start: number, end: number): number | undefined {
  const stop = end - 2;
  const negative = bytes[start] === 0x2d;
  const first = negative ? start + 1 : start;
  if (first >= stop) return undefined;
  // Redis reads neither -0 nor a number that begins with a zero.
  if (bytes[first] === 0x30 && (negative || stop > first + 1)) return undefined;
  let value = 0;
  for (let at = first; at < stop; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return Number.isSafeInteger(value) ? (negative ? -value : value) : undefined;
}
