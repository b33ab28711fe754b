/** Replies to bytes, RESP2 and RESP3 (redis.io protocol specification). */
import { assert, unreachable } from '../../common/assert.ts';
import { OK, type Protocol, type Reply } from './reply.ts';
import { replyBytes } from './reply-bytes.ts';

const BUFFER_BYTES_MIN = 1_024;
const BUFFER_BYTES_MAX = 65_536;
/** What writing may ask for beyond what a reply weighs. */
const ROOM_BYTES = 64;
/** Mark, length and two line ends of a bulk. */
const BULK_FRAME_BYTES_MAX = 32;
/** Mark and line end. */
const LINE_FRAME_BYTES = 3;
/** Whole numbers up to here are written as integers are. */
const WHOLE_MAX = 2 ** 62;
/** So many zeros are written rather than an exponent, and so small exponents never are. */
const ZEROS_MAX = 7;
const PLAIN_EXPONENTS = 4;
const ZERO = 0x30;
const SPACE = 0x20;
const ASCII_END = 0x80;
const CR = 0x0d;
const LF = 0x0a;

const NOTHING = Buffer.alloc(0);

type Packed = Extract<Reply, { kind: 'packed' }>;

const packedMarks = { array: '*', set: '~', map: '%', pairs: '*' } as const;

/** The items of a packed reply, as they are sent. */
export function packedChunks({ resp2, resp3 }: Packed, protocol: Protocol): readonly Buffer[] {
  return protocol === 3 ? resp3 : resp2;
}

/** Gathers the replies of a turn, so that they leave in one write. */
export class ReplyWriter {
  #buffer: Buffer;
  /** What lies before was taken. */
  #start = 0;
  #length = 0;
  /** So many were taken at once: as many may come. */
  #lastBytes = 0;

  /** Without `sizeHint` there is no memory before something is gathered. */
  constructor(sizeHint = 0) {
    this.#buffer = sizeHint === 0 ? NOTHING : Buffer.allocUnsafe(sizeHint);
  }

  /** Bytes gathered and not taken. */
  get length(): number {
    return this.#length - this.#start;
  }

  append(reply: Reply, protocol: Protocol): void {
    switch (reply.kind) {
      case 'simple':
        return this.#line('+', reply.text);
      case 'error':
        return this.#line('-', reply.text);
      case 'integer':
        return this.#line(':', String(reply.value));
      case 'bulk':
        return this.#bulk('$', reply.bytes);
      case 'null':
        return this.#text(protocol === 3 ? '_\r\n' : '$-1\r\n');
      case 'nullArray':
        return this.#text(protocol === 3 ? '_\r\n' : '*-1\r\n');
      case 'array':
        return this.#items('*', reply.items, protocol);
      case 'set':
        return this.#items(protocol === 3 ? '~' : '*', reply.items, protocol);
      case 'push':
        return this.#items(protocol === 3 ? '>' : '*', reply.items, protocol);
      case 'map':
        return this.#map(reply.pairs, protocol);
      case 'pairs':
        return this.#pairs(reply.pairs, protocol);
      case 'rows':
        return this.#rows(reply.pairs, protocol);
      case 'packed':
        this.beginPacked(reply, protocol);
        for (const chunk of packedChunks(reply, protocol)) this.#raw(chunk);
        return;
      case 'either':
        return this.append(protocol === 3 ? reply.resp3 : reply.resp2, protocol);
      case 'kept':
        return this.#raw(protocol === 3 ? reply.resp3 : reply.resp2);
      case 'encoded':
        return this.#raw(reply.bytes);
      default:
        return this.#scalar(reply, protocol);
    }
  }

  /** The line that counts the items of a packed reply. */
  beginPacked({ shape, units }: Packed, protocol: Protocol): void {
    const flat = protocol === 2 && (shape === 'map' || shape === 'pairs');
    const mark = protocol === 3 ? packedMarks[shape] : '*';
    this.#line(mark, String(flat ? units * 2 : units));
  }

  /** What comes before and behind the bytes of a bulk that are sent from where they are. */
  beginBulk(bytes: number): void {
    this.#line('$', String(bytes));
  }

  endBulk(): void {
    this.#text('\r\n');
  }

  beginArray(count: number): void {
    this.#line('*', String(count));
  }

  /** The bytes gathered since the last call; the writer begins anew. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(this.#start, this.#length);
    this.#start = this.#length;
    this.#lastBytes = bytes.length;
    return bytes;
  }

  /** Goes on in `memory`, or in some of its own; nothing that was gathered may be left. */
  moveTo(memory: Buffer = NOTHING): void {
    assert(this.length === 0, 'what was gathered has been taken');
    this.#buffer = memory;
    this.rewind();
  }

  /** Begins anew in the same memory: nobody looks any more at what was taken. */
  rewind(): void {
    this.#start = 0;
    this.#length = 0;
  }

  #scalar(
    reply: Extract<Reply, { kind: 'double' | 'boolean' | 'verbatim' | 'bigNumber' }>,
    protocol: Protocol,
  ): void {
    const text = scalarText(reply);
    if (reply.kind === 'boolean') {
      return this.#text(protocol === 3 ? `#${reply.value ? 't' : 'f'}\r\n` : `:${text}\r\n`);
    }
    if (protocol === 2) return this.#bulk('$', Buffer.from(text));
    if (reply.kind === 'verbatim') return this.#bulk('=', Buffer.from(`${reply.format}:${text}`));
    return this.#line(reply.kind === 'double' ? ',' : '(', text);
  }

  #items(mark: string, items: readonly Reply[], protocol: Protocol): void {
    this.#line(mark, String(items.length));
    for (const item of items) this.append(item, protocol);
  }

  #map(pairs: readonly (readonly [Reply, Reply])[], protocol: Protocol): void {
    this.#line(
      protocol === 3 ? '%' : '*',
      String(protocol === 3 ? pairs.length : pairs.length * 2),
    );
    for (const [key, value] of pairs) {
      this.append(key, protocol);
      this.append(value, protocol);
    }
  }

  #pairs(pairs: readonly (readonly [Reply, Reply])[], protocol: Protocol): void {
    this.#line('*', String(protocol === 3 ? pairs.length : pairs.length * 2));
    for (const pair of pairs) {
      if (protocol === 3) this.#line('*', '2');
      for (const item of pair) this.append(item, protocol);
    }
  }

  #rows(pairs: readonly (readonly [Reply, Reply])[], protocol: Protocol): void {
    this.#line(protocol === 3 ? '%' : '*', String(pairs.length));
    for (const pair of pairs) {
      if (protocol === 2) this.#line('*', '2');
      for (const item of pair) this.append(item, protocol);
    }
  }

  /** Byte by byte: a call that encodes a string costs more than a short reply. */
  #bulk(mark: string, bytes: Buffer): void {
    const { length } = bytes;
    this.#reserve(length + BULK_FRAME_BYTES_MAX);
    const buffer = this.#buffer;
    let at = this.#length;
    buffer[at++] = mark.charCodeAt(0);
    let divisor = 1;
    while (divisor * 10 <= length) divisor *= 10;
    for (; divisor >= 1; divisor = Math.floor(divisor / 10)) {
      buffer[at++] = ZERO + (Math.floor(length / divisor) % 10);
    }
    buffer[at++] = CR;
    buffer[at++] = LF;
    buffer.set(bytes, at);
    at += length;
    buffer[at++] = CR;
    buffer[at++] = LF;
    this.#length = at;
  }

  /** As a bulk. A line break inside would end it: the rest would pass for the next reply. */
  #line(mark: string, text: string): void {
    this.#reserve(text.length * 3 + LINE_FRAME_BYTES);
    const buffer = this.#buffer;
    let at = this.#length;
    buffer[at++] = mark.charCodeAt(0);
    for (let next = 0; next < text.length; next++) {
      const code = text.charCodeAt(next);
      if (code >= ASCII_END) {
        at += buffer.write(text.slice(next).replace(/[\r\n]/g, ' '), at, 'utf8');
        break;
      }
      buffer[at++] = code === CR || code === LF ? SPACE : code;
    }
    buffer[at++] = CR;
    buffer[at++] = LF;
    this.#length = at;
  }

  #text(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
  }

  #raw(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#buffer.length) return;
    const kept = this.length;
    const usual = Math.min(Math.max(this.#lastBytes, BUFFER_BYTES_MIN), BUFFER_BYTES_MAX);
    const grown = Buffer.allocUnsafe(Math.max(kept + count, kept * 2, usual));
    this.#buffer.copy(grown, 0, this.#start, this.#length);
    this.#buffer = grown;
    this.#start = 0;
    this.#length = kept;
  }
}

/** Room for the whole of it: what is large must not be copied as it grows. */
function sizeHint(reply: Reply, protocol: Protocol): number {
  if (reply.kind !== 'packed') return replyBytes(reply) + ROOM_BYTES;
  const chunks = packedChunks(reply, protocol);
  return chunks.reduce((sum, { length }) => sum + length, ROOM_BYTES);
}

export function encodeReply(reply: Reply, protocol: Protocol): Buffer {
  const writer = new ReplyWriter(sizeHint(reply, protocol));
  writer.append(reply, protocol);
  return writer.take();
}

const passing = new ReplyWriter();

const ENCODED_OK = encodeReply(OK, 2);

/** As `encodeReply`, for who copies it at once: the next call writes over it. */
export function encodePassing(reply: Reply, protocol: Protocol): Buffer {
  if (reply === OK) return ENCODED_OK;
  if (replyBytes(reply) > BUFFER_BYTES_MAX) return encodeReply(reply, protocol);
  passing.rewind();
  passing.append(reply, protocol);
  return passing.take();
}

/**
 * Redis's shortest form of a double: whole numbers up to 2^62 in full, others with the digits that
 * read back, an exponent where that is shorter: `3`, `0.1`, `1e-7`, `1e+21`, `inf`, `-inf`, `nan`.
 */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (value === Number.POSITIVE_INFINITY) return 'inf';
  if (value === Number.NEGATIVE_INFINITY) return '-inf';
  if (Object.is(value, -0)) return '-0';
  if (Number.isInteger(value) && Math.abs(value) <= WHOLE_MAX) {
    return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
  }
  return shortestForm(value);
}

function shortestForm(value: number): string {
  const [mantissa = '', power = ''] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 ? '-' : '';
  const digits = mantissa.replace('.', '');
  const exponent = Number(power);
  /** Of the last digit. */
  const scale = exponent - digits.length + 1;
  if (scale >= 0 && exponent < digits.length + ZEROS_MAX) return sign + digits + '0'.repeat(scale);
  if (scale < 0 && (scale >= -ZEROS_MAX + 1 || Math.abs(exponent) < PLAIN_EXPONENTS)) {
    const whole = digits.length + scale;
    if (whole > 0) return `${sign}${digits.slice(0, whole)}.${digits.slice(whole)}`;
    return `${sign}0.${'0'.repeat(-whole)}${digits}`;
  }
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${sign}${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`;
}

function scalarText(
  reply: Extract<Reply, { kind: 'double' | 'boolean' | 'verbatim' | 'bigNumber' }>,
): string {
  switch (reply.kind) {
    case 'double':
      return reply.text ?? formatDouble(reply.value);
    case 'boolean':
      return reply.value ? '1' : '0';
    case 'verbatim':
      return reply.text;
    case 'bigNumber':
      return String(reply.value);
    default:
      return unreachable(reply);
  }
}
