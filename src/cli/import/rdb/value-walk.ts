/**
 * How the values of an RDB file are laid out, told once for who reads over them and for who takes them
 * in parts: a walk yields what is to be read next and is given what stood there. Who only wants to
 * know where a value ends gives back no strings, and then no part comes out of it.
 */

import {
  fieldsOf,
  quicklistNodes,
  rdbTypes,
  scoresOf,
} from '../../../datanode/encoding/rdb/rdb-decode.ts';
import { fieldDeadline, fieldsInListpack } from '../../../datanode/encoding/rdb/rdb-fields.ts';
import { rdbModuleName } from '../../../datanode/encoding/rdb/rdb-json.ts';
import {
  intsetEntries,
  listpackEntries,
  ziplistEntries,
  zipmapEntries,
} from '../../../datanode/encoding/rdb/rdb-packed.ts';
import { RdbError, RdbReader, unbounded } from '../../../datanode/encoding/rdb/rdb-reader.ts';
import type { RdbPart } from './rdb-events.ts';
import { streamWalk } from './stream-walk.ts';

export type Step =
  /** A length, given back as a number. */
  | 'length'
  /** A number of up to 64 bits, given back as a bigint. */
  | 'number'
  /** A score as a text, given back as a number. */
  | 'score'
  /** A string that is an element: given back as its bytes, or undefined. */
  | 'string'
  /** A string that elements are packed in. */
  | 'packed'
  /** So many bytes, given back. */
  | number
  /** Why the rest of the value cannot be taken. */
  | { readonly kind: 'refuse'; readonly why: string }
  | RdbPart;

export type Answer = number | bigint | Buffer | undefined;
export type Walk<Result = void> = Generator<Step, Result, Answer>;

/** Whether values of the type can be laid out at all. */
export function isKnownType(type: number): boolean {
  return knownTypes.has(type);
}

const knownTypes: ReadonlySet<number> = new Set(Object.values(rdbTypes));

export function* valueWalk(type: number): Walk {
  switch (type) {
    case rdbTypes.string:
      yield 'string';
      return;
    case rdbTypes.list:
    case rdbTypes.set:
      return yield* plainElements();
    case rdbTypes.zset:
    case rdbTypes.zsetText:
      return yield* scoredMembers(type);
    case rdbTypes.hash:
      return yield* plainFields();
    case rdbTypes.hashMetadata:
    case rdbTypes.hashMetadataEarly:
      return yield* countedFields(type === rdbTypes.hashMetadata);
    case rdbTypes.hashListpackEx:
      yield 8;
      return yield* packed(type);
    case rdbTypes.listQuicklist:
    case rdbTypes.listQuicklist2:
      return yield* quicklist(type === rdbTypes.listQuicklist2);
    case rdbTypes.stream:
    case rdbTypes.stream7:
    case rdbTypes.stream72:
      return yield* streamWalk(type);
    default:
      return yield* packed(type);
  }
}

function* plainElements(): Walk {
  for (let left = (yield 'length') as number; left > 0; left--) {
    const element = (yield 'string') as Buffer | undefined;
    if (element !== undefined) yield { kind: 'element', element };
  }
}

function* plainFields(): Walk {
  for (let left = (yield 'length') as number; left > 0; left--) yield* field(0);
}

function* countedFields(hasEarliest: boolean): Walk {
  const earliest = hasEarliest ? Number(((yield 8) as Buffer).readBigUInt64LE()) : undefined;
  for (let left = (yield 'length') as number; left > 0; left--) {
    const after = Number((yield 'number') as bigint);
    yield* field(fieldDeadline(after, earliest));
  }
}

function* field(deadlineMs: number): Walk {
  const name = (yield 'string') as Buffer | undefined;
  const value = (yield 'string') as Buffer | undefined;
  if (name === undefined || value === undefined) return;
  yield { kind: 'field', field: name, value, deadlineMs };
}

function* scoredMembers(type: number): Walk {
  for (let left = (yield 'length') as number; left > 0; left--) {
    const member = (yield 'string') as Buffer | undefined;
    const read = (yield type === rdbTypes.zset ? 8 : 'score') as Buffer | number;
    const score = typeof read === 'number' ? read : read.readDoubleLE();
    if (Number.isNaN(score)) throw new RdbError('a score is not a number');
    if (member !== undefined) yield { kind: 'member', member, score };
  }
}

function* quicklist(isSecond: boolean): Walk {
  for (let left = (yield 'length') as number; left > 0; left--) {
    const kind = isSecond ? ((yield 'length') as number) : quicklistNodes.packed;
    if (kind === quicklistNodes.plain) {
      const element = (yield 'string') as Buffer | undefined;
      if (element !== undefined) yield { kind: 'element', element };
      continue;
    }
    if (kind !== quicklistNodes.packed) throw new RdbError(`quicklist node ${kind} is unknown`);
    const node = (yield 'packed') as Buffer | undefined;
    if (node === undefined) continue;
    const reader = new RdbReader(node, unbounded);
    yield* elements(isSecond ? listpackEntries(reader, node) : ziplistEntries(reader, node));
  }
}

function* packed(type: number): Walk {
  const bytes = (yield 'packed') as Buffer | undefined;
  if (bytes === undefined) return;
  const reader = new RdbReader(bytes, unbounded);
  switch (type) {
    case rdbTypes.listZiplist:
      return yield* elements(ziplistEntries(reader, bytes));
    case rdbTypes.setIntset:
      return yield* elements(intsetEntries(reader, bytes));
    case rdbTypes.setListpack:
      return yield* elements(listpackEntries(reader, bytes));
    case rdbTypes.zsetZiplist:
      return yield* members(ziplistEntries(reader, bytes));
    case rdbTypes.zsetListpack:
      return yield* members(listpackEntries(reader, bytes));
    case rdbTypes.hashZipmap:
      return yield* fields(fieldsOf(zipmapEntries(reader, bytes)));
    case rdbTypes.hashZiplist:
      return yield* fields(fieldsOf(ziplistEntries(reader, bytes)));
    case rdbTypes.hashListpack:
      return yield* fields(fieldsOf(listpackEntries(reader, bytes)));
    case rdbTypes.hashListpackEx:
    case rdbTypes.hashListpackExEarly:
      return yield* fields(fieldsInListpack(reader, bytes));
    default:
      throw new RdbError(`type ${type} is unknown`);
  }
}

function* elements(all: Iterable<Buffer>): Walk {
  for (const element of all) yield { kind: 'element', element };
}

function* members(all: ReturnType<typeof scoresOf> | Iterable<Buffer>): Walk {
  for (const [member, score] of scoresOf(all as Iterable<Buffer>)) {
    yield { kind: 'member', member, score };
  }
}

function* fields(all: Iterable<readonly [Buffer, Buffer, number]>): Walk {
  for (const [name, value, deadlineMs] of all) {
    yield { kind: 'field', field: name, value, deadlineMs };
  }
}

/** What a module has written of itself says where it ends: numbers and strings behind their kinds. */
export function* moduleWalk(): Walk<string> {
  const name = rdbModuleName((yield 'number') as bigint);
  yield* moduleRest();
  return name;
}

const [MODULE_END, MODULE_FLOAT, MODULE_DOUBLE, MODULE_STRING] = [0, 3, 4, 5];

/** Behind the module's ID. */
export function* moduleRest(): Walk {
  for (;;) {
    const kind = (yield 'length') as number;
    if (kind === MODULE_END) return;
    if (kind > MODULE_STRING) throw new RdbError(`a module's value has a part of kind ${kind}`);
    if (kind === MODULE_FLOAT) yield 4;
    else if (kind === MODULE_DOUBLE) yield 8;
    else if (kind === MODULE_STRING) yield 'string';
    else yield 'number';
  }
}
