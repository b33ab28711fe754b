/** What an RDB file tells, one event after the other, and what is wrong with one. */
import type { StreamId } from '../../../datanode/encoding/records/stream-id.ts';

/** A key as the file has it, before its value. */
export interface KeyHead {
  readonly key: Buffer;
  /** Of Redis's types of encodings (`rdbTypes`). */
  readonly type: number;
  /** Milliseconds since 1970; undefined: it has no deadline. */
  readonly deadlineMs: number | undefined;
  /** Of its type's byte in the file. */
  readonly offset: number;
}

/** A piece of a value that is too large to be handed on as a whole. */
export type RdbPart =
  | { readonly kind: 'element'; readonly element: Buffer }
  | {
      readonly kind: 'field';
      readonly field: Buffer;
      readonly value: Buffer;
      /** 0: none. */
      readonly deadlineMs: number;
    }
  | { readonly kind: 'member'; readonly member: Buffer; readonly score: number }
  | { readonly kind: 'entry'; readonly id: StreamId; readonly fields: readonly Buffer[] }
  | StreamEnds
  | {
      readonly kind: 'group';
      readonly name: Buffer;
      readonly lastId: StreamId;
      /** Undefined: not known, or not told before Redis 7.0. */
      readonly entriesRead: number | undefined;
    }
  | { readonly kind: 'consumer'; readonly group: Buffer; readonly name: Buffer }
  | {
      readonly kind: 'pending';
      readonly group: Buffer;
      readonly consumer: Buffer;
      readonly id: StreamId;
      readonly deliveredMs: number;
      readonly deliveries: number;
    };

/** Behind all entries of a stream; what Redis before 7.0 did not tell is undefined. */
export interface StreamEnds {
  readonly kind: 'ends';
  readonly lastId: StreamId;
  readonly maxDeletedId: StreamId | undefined;
  readonly entriesAdded: number | undefined;
}

export type RdbEvent =
  | { readonly kind: 'header'; readonly version: number }
  | { readonly kind: 'aux'; readonly name: string; readonly value: string }
  | { readonly kind: 'database'; readonly database: number }
  /** How many keys the database of before has, as the file says. */
  | { readonly kind: 'sizes'; readonly keys: number; readonly deadlines: number }
  | { readonly kind: 'string'; readonly head: KeyHead; readonly bytes: Buffer }
  /** `body`: type and value as RESTORE takes them, without the footer. */
  | { readonly kind: 'whole'; readonly head: KeyHead; readonly body: Buffer }
  /** Parts follow, and then an `endOfLarge`. */
  | { readonly kind: 'large'; readonly head: KeyHead }
  | { readonly kind: 'part'; readonly part: RdbPart }
  /** `refused`: why the rest of it was left out. */
  | { readonly kind: 'endOfLarge'; readonly head: KeyHead; readonly refused: string | undefined }
  /** A value that kvorum cannot take, which was read over. */
  | { readonly kind: 'refused'; readonly head: KeyHead; readonly why: string }
  /** A library of functions; `name` as its code says it, or what there is of it. */
  | { readonly kind: 'library'; readonly name: string; readonly code: Buffer }
  /** Something of the file beside keys that is left out. */
  | { readonly kind: 'skipped'; readonly what: string }
  /** The file's end, and whether it has a checksum (which is right then). */
  | { readonly kind: 'end'; readonly hasChecksum: boolean };

/** The file is cut or damaged; the message says where, and what was being read. */
export class RdbFileError extends Error {
  override readonly name = 'RdbFileError';
  readonly offset: number;

  constructor(offset: number, doing: string, why: string) {
    super(`at byte ${offset}, in ${doing}: ${why}`);
    this.offset = offset;
  }
}

const NAME_BYTES = 64;
const PRINTABLE = /^[\x20-\x7e]+$/;

/** A key for people: in quotes, what is not printable as in Redis's logs, long ones cut. */
export function keyText(key: Buffer): string {
  const text = key.toString('latin1', 0, NAME_BYTES);
  const rest = key.length > NAME_BYTES ? '…' : '';
  if (PRINTABLE.test(text)) return `"${text.replaceAll(/["\\]/g, '\\$&')}"${rest}`;
  const escaped = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    if (PRINTABLE.test(character)) return character;
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `"${escaped.join('')}"${rest}`;
}
