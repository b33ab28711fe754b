/**
 * Fields of hashes that may have deadlines, as Redis serializes them from 7.4 on:
 *
 *   hash:     [earliest u64 little-endian ·] count · fields (deadline · field · value)
 *   listpack: [earliest u64 little-endian ·] listpack of field, value, deadline
 *
 * A deadline is 0 when there is none. In a hash it is counted from the earliest (which is 1), in a
 * listpack it is a time. Release candidates of 7.4 wrote both without the earliest, and times.
 */
import { listpackEntries } from './rdb-packed.ts';
import { RdbError, type RdbReader } from './rdb-reader.ts';

/** `deadlineMs`: milliseconds since 1970; 0: none. */
export type RdbField = readonly [field: Buffer, value: Buffer, deadlineMs: number];

/** Redis's, of a field. */
const DEADLINE_MAX_MS = 2 ** 48 - 1;
const DEADLINE = /^\d{1,15}$/;

/** Of a hash, behind its earliest deadline; undefined: deadlines are times. */
export function* countedFields(reader: RdbReader, earliestMs?: number): Generator<RdbField> {
  const count = reader.length();
  for (let at = 0; at < count; at++) {
    const deadlineMs = fieldDeadline(reader.number(), earliestMs);
    const field = reader.element(reader.string());
    yield [field, reader.element(reader.string()), deadlineMs];
  }
}

/** From the number before a field, and the earliest deadline of all. */
export function fieldDeadline(after: number, earliestMs: number | undefined): number {
  const base = after === 0 || earliestMs === undefined ? 0 : earliestMs - 1;
  return checked(base + after);
}

/** Of a listpack, behind the earliest deadline, which tells nothing more. */
export function packedFields(reader: RdbReader): Generator<RdbField> {
  return fieldsInListpack(reader, reader.string());
}

/** The same of a listpack that has been read. */
export function* fieldsInListpack(reader: RdbReader, listpack: Buffer): Generator<RdbField> {
  const entries = listpackEntries(reader, listpack);
  for (let field = entries.next(); !field.done; field = entries.next()) {
    const [value, deadline] = [entries.next(), entries.next()];
    if (value.done || deadline.done) throw new RdbError('its last field is cut');
    const text = deadline.value.toString('latin1', 0, 16);
    if (!DEADLINE.test(text)) throw new RdbError('a deadline is not a time');
    yield [field.value, value.value, checked(Number(text))];
  }
}

function checked(deadlineMs: number): number {
  if (deadlineMs <= DEADLINE_MAX_MS) return deadlineMs;
  throw new RdbError(`the deadline ${deadlineMs} is out of bounds`);
}
