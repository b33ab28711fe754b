/**
 * The protobuf wire format, as far as etcd's v3 messages need it: varints, bytes, strings and
 * sub-messages, proto3 defaults, unknown fields skipped. int64 values are JavaScript numbers:
 * revisions, leases and times of ours stay below 2^53, anything beyond is refused.
 */

type Scalar = 'bytes' | 'string' | 'int64' | 'bool';

export interface Field {
  readonly number: number;
  readonly kind: Scalar | Codec<object>;
  readonly repeated?: boolean;
}

type Fields<T> = { readonly [K in keyof Required<T>]: Field };

/** Thrown on bytes that are no such message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Encodes and decodes one message type. Absent scalars decode to their zero, messages to undefined. */
export interface Codec<T extends object> {
  encode(message: Partial<T>): Buffer;
  decode(bytes: Buffer): T;
}

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

/** Describes a message: every field of T with its number. */
export function message<T extends object>(fields: Fields<T>): Codec<T> {
  const named = Object.entries<Field>(fields);
  const byNumber = new Map(named.map(([name, field]) => [field.number, { name, field }]));
  return {
    encode(value) {
      const parts: Buffer[] = [];
      const given: Readonly<Record<string, unknown>> = { ...value };
      for (const [name, field] of named) encodeField(parts, field, given[name]);
      return Buffer.concat(parts);
    },
    decode(bytes) {
      const result: Record<string, unknown> = {};
      for (const [name, field] of named) result[name] = zeroOf(field);
      const reader = new Reader(bytes);
      while (!reader.done) {
        const tag = reader.varint();
        const wireType = tag % 8;
        const known = byNumber.get(Math.floor(tag / 8));
        if (known === undefined) reader.skip(wireType);
        else decodeField(reader, wireType, known.field, result, known.name);
      }
      return result as T;
    },
  };
}

function zeroOf(field: Field): unknown {
  if (field.repeated) return [];
  if (field.kind === 'bytes') return Buffer.alloc(0);
  if (field.kind === 'string') return '';
  if (field.kind === 'int64') return 0;
  return field.kind === 'bool' ? false : undefined;
}

function encodeField(parts: Buffer[], field: Field, value: unknown): void {
  if (value === undefined) return;
  if (field.repeated) {
    for (const one of value as readonly unknown[]) encodeOne(parts, field, one, true);
  } else {
    encodeOne(parts, field, value, false);
  }
}

/** A zero is left out, as proto3 wants, except as an element of a repeated field. */
function encodeOne(parts: Buffer[], field: Field, value: unknown, always: boolean): void {
  const { kind, number } = field;
  if (kind === 'int64' || kind === 'bool') {
    const plain = Number(value);
    if (plain === 0 && !always) return;
    parts.push(varintBytes(number * 8 + VARINT), varintBytes(plain));
    return;
  }
  let bytes: Buffer;
  if (kind === 'bytes') bytes = value as Buffer;
  else if (kind === 'string') bytes = Buffer.from(String(value));
  else bytes = kind.encode(value as object);
  if (bytes.length === 0 && !always && typeof kind === 'string') return;
  parts.push(varintBytes(number * 8 + DELIMITED), varintBytes(bytes.length), bytes);
}

function decodeField(
  reader: Reader,
  wireType: number,
  field: Field,
  result: Record<string, unknown>,
  name: string,
): void {
  const store = (value: unknown) => {
    if (field.repeated) (result[name] as unknown[]).push(value);
    else result[name] = value;
  };
  const { kind } = field;
  if (kind === 'int64' || kind === 'bool') {
    const one = (from: Reader) => (kind === 'bool' ? from.varint() !== 0 : from.varint());
    if (wireType === VARINT) {
      store(one(reader));
      return;
    }
    if (wireType !== DELIMITED || !field.repeated) throw new WireError(`wire type of ${name}`);
    const packed = new Reader(reader.delimited());
    while (!packed.done) store(one(packed));
    return;
  }
  if (wireType !== DELIMITED) throw new WireError(`wire type of ${name}`);
  const bytes = reader.delimited();
  if (kind === 'bytes') store(Buffer.from(bytes));
  else store(kind === 'string' ? bytes.toString('utf8') : kind.decode(bytes));
}

function varintBytes(value: number): Buffer {
  if (!Number.isSafeInteger(value)) throw new WireError(`not a whole number: ${value}`);
  const bytes: number[] = [];
  if (value < 0) {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
  } else {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new WireError('ends inside a number');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) {
        const signed = Number(BigInt.asIntN(64, value));
        if (!Number.isSafeInteger(signed)) throw new WireError('a number beyond 2^53');
        return signed;
      }
    }
    throw new WireError('a number of more than ten bytes');
  }

  delimited(): Buffer {
    const length = this.varint();
    if (length < 0 || length > this.#bytes.length - this.#at) throw new WireError('ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === DELIMITED) this.delimited();
    else if (wireType === FIXED64) this.#at += 8;
    else if (wireType === FIXED32) this.#at += 4;
    else throw new WireError(`unknown wire type ${wireType}`);
    if (this.#at > this.#bytes.length) throw new WireError('ends early');
  }
}
