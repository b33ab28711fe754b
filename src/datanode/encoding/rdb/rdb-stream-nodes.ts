/**
 * The entries of a stream as Redis keeps and serializes them: nodes, each the ID of its first entry and a
 * listpack that tells the fields of it, and of the entries
 *
 *   count · deleted · fields · field … · 0, then for each entry
 *   flags · milliseconds and sequence, less those of the first · what it has · elements before this one
 *
 * where an entry has its values if its fields are those of the first, otherwise their number and all of them.
 */
import { STREAM_ID_BYTES, type StreamId } from '../records/stream-id.ts';
import { type EntryFields, encodeEntry } from '../streams/stream-entry.ts';
import { ListpackWriter } from './listpack-writer.ts';
import { listpackEntries } from './rdb-packed.ts';
import { RdbError, type RdbReader } from './rdb-reader.ts';

/** Redis's stream-node-max-bytes and stream-node-max-entries, as they are unless set. */
const NODE_BYTES = 4_096;
const NODE_ENTRIES = 100;
const DELETED = 1;
const SAME_FIELDS = 2;
const SEQUENCE_AT = 8;
const WHOLE = /^(?:0|-?[1-9]\d{0,18})$/;

/** One node while entries are put into it; the first gives it its fields. */
export class StreamNode {
  readonly #first: StreamId;
  readonly #names: readonly Buffer[];
  readonly #pack = new ListpackWriter();
  #count = 0;

  constructor(first: StreamId, fields: EntryFields) {
    this.#first = first;
    this.#names = namesOf(fields);
    for (const number of [0, 0, this.#names.length]) this.#pack.integer(number);
    for (const name of this.#names) this.#pack.text(name);
    this.#pack.integer(0);
  }

  /** Redis would begin another for these. */
  isFull(fields: EntryFields): boolean {
    let bytes = this.#pack.byteLength;
    for (const { length } of fields) bytes += length;
    return bytes >= NODE_BYTES || this.#count >= NODE_ENTRIES;
  }

  add(id: StreamId, fields: EntryFields): void {
    const pack = this.#pack;
    const isSame = this.#hasNames(fields);
    pack.integer(isSame ? SAME_FIELDS : 0);
    pack.integer(distance(this.#first, id, 0));
    pack.integer(distance(this.#first, id, SEQUENCE_AT));
    const pairs = fields.length / 2;
    if (!isSame) pack.integer(pairs);
    for (let at = isSame ? 1 : 0; at < fields.length; at += isSame ? 2 : 1) pack.text(fields[at]!);
    pack.integer(isSame ? pairs + 3 : 2 * pairs + 4);
    pack.setFirst(++this.#count);
  }

  /** The ID of its first entry, and its listpack. */
  finish(): readonly [StreamId, Buffer] {
    return [this.#first, this.#pack.finish()];
  }

  #hasNames(fields: EntryFields): boolean {
    const names = this.#names;
    if (fields.length !== 2 * names.length) return false;
    return names.every((name, at) => name.equals(fields[2 * at]!));
  }
}

function namesOf(fields: EntryFields): readonly Buffer[] {
  return fields.filter((_, at) => at % 2 === 0);
}

/** From one ID to another, of milliseconds or of sequences, around the end of 64 bits. */
function distance(from: StreamId, to: StreamId, at: number): bigint {
  return BigInt.asIntN(64, to.readBigUInt64BE(at) - from.readBigUInt64BE(at));
}

/** An entry as it is stored, and the bytes of its longest field or value. */
export interface StoredEntry {
  readonly id: StreamId;
  readonly value: Buffer;
  readonly longest: number;
}

/** Others may have their turn. */
type Step = undefined;

/** The entries of one node that are not deleted, with steps between. */
export function* nodeEntries(reader: RdbReader): Generator<StoredEntry | Step> {
  const first = reader.string();
  yield* entriesOfNode(reader, first, reader.string());
}

/** The same of a node whose ID and listpack have been read. */
export function* entriesOfNode(
  reader: RdbReader,
  first: Buffer,
  listpack: Buffer,
): Generator<StoredEntry | Step> {
  if (first.length !== STREAM_ID_BYTES) throw new RdbError("a node's ID has not 16 bytes");
  const elements = new Elements(listpackEntries(reader, listpack, false));
  const left = { live: elements.count(), deleted: elements.count() };
  const count = left.live + left.deleted;
  if (count === 0) throw new RdbError('a node is empty');
  const names = yield* readNames(reader, elements);
  for (let at = 0; at < count; at++) {
    const flags = elements.count();
    if ((flags & ~(DELETED | SAME_FIELDS)) !== 0) throw new RdbError(`flags ${flags} of an entry`);
    const isDeleted = (flags & DELETED) !== 0;
    if (--left[isDeleted ? 'deleted' : 'live'] < 0) throw new RdbError('a node says another count');
    const id = readId(elements, first);
    const same = (flags & SAME_FIELDS) === 0 ? undefined : names;
    const fields = yield* readFields(reader, elements, same);
    if (isDeleted) yield;
    else yield storedEntry(reader, id, fields);
  }
  elements.end();
}

function* readNames(reader: RdbReader, elements: Elements): Generator<Step, readonly Buffer[]> {
  const names: Buffer[] = [];
  for (let left = elements.count(); left > 0; left--) {
    names.push(reader.element(elements.next()));
    yield;
  }
  elements.expect(0);
  return names;
}

function readId(elements: Elements, first: StreamId): StreamId {
  const id = Buffer.allocUnsafe(STREAM_ID_BYTES);
  for (const at of [0, SEQUENCE_AT]) {
    const number = first.readBigUInt64BE(at) + elements.integer();
    id.writeBigUInt64BE(BigInt.asUintN(64, number), at);
  }
  return id;
}

/** `names`: those of the node, if the entry has the same. */
function* readFields(
  reader: RdbReader,
  elements: Elements,
  names: readonly Buffer[] | undefined,
): Generator<Step, EntryFields> {
  const pairs = names?.length ?? elements.count();
  if (pairs === 0) throw new RdbError('an entry has no fields');
  const fields: Buffer[] = [];
  for (let at = 0; at < pairs; at++) {
    fields.push(reader.element(names?.[at] ?? elements.next()), elements.next());
    if (at > 0) yield;
  }
  elements.expect(names === undefined ? 2 * pairs + 4 : pairs + 3);
  return fields;
}

function storedEntry(reader: RdbReader, id: StreamId, fields: EntryFields): StoredEntry {
  let longest = 0;
  let bytes = 0;
  for (const { length } of fields) {
    longest = Math.max(longest, length);
    bytes += length;
  }
  // names that stand there once may be those of all entries
  reader.expands(bytes);
  return { id, value: encodeEntry(fields), longest };
}

/** The elements of a listpack, one by one. */
class Elements {
  readonly #entries: Iterator<Buffer>;

  constructor(entries: Iterator<Buffer>) {
    this.#entries = entries;
  }

  next(): Buffer {
    const step = this.#entries.next();
    if (step.done) throw new RdbError('a node ends early');
    return step.value;
  }

  /** Of 64 bits with a sign. */
  integer(): bigint {
    const text = this.next().toString('latin1', 0, 21);
    if (!WHOLE.test(text)) throw new RdbError('an element of a node is no number');
    return BigInt(text);
  }

  count(): number {
    const value = this.integer();
    if (value >= 0n && value <= 0xffff_ffffn) return Number(value);
    throw new RdbError(`the count ${value} of a node is out of bounds`);
  }

  expect(value: number): void {
    if (this.count() !== value) throw new RdbError(`an element of a node is not ${value}`);
  }

  end(): void {
    if (!this.#entries.next().done) throw new RdbError('a node says another count');
  }
}
