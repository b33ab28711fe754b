/**
 * An RDB file as events, from its bytes as they come. Pure: nothing is read or waited for here. Of a
 * value no more is held than `WHOLE_BYTES`, unless it is one string or what elements are packed in;
 * a larger one is told in parts.
 */

import { limits } from '../../../common/limits.ts';
import { parseMetadata } from '../../../datanode/commands/functions/library-metadata.ts';
import { rdbTypes } from '../../../datanode/encoding/rdb/rdb-decode.ts';
import { rdbModuleName } from '../../../datanode/encoding/rdb/rdb-json.ts';
import type { RdbReader } from '../../../datanode/encoding/rdb/rdb-reader.ts';
import type { KeyHead, RdbEvent } from './rdb-events.ts';
import { TooLong, UnitReader, type Units } from './unit-reader.ts';
import { ValueReader } from './value-reader.ts';
import { isKnownType, moduleRest, moduleWalk } from './value-walk.ts';

/** A value of so many bytes, unpacked, is handed on as a whole. */
const WHOLE_BYTES = 1_048_576;
const MAGIC = 'REDIS';
const HEADER_BYTES = 9;
/** What Redis 8 writes. */
const VERSION_MAX = 12;
const CHECKSUM_SINCE = 5;
const CHECKSUM_BYTES = 8;
const NO_CHECKSUM = Buffer.alloc(CHECKSUM_BYTES);

const opcodes = {
  slotInfo: 244,
  function: 245,
  functionEarly: 246,
  moduleAux: 247,
  idle: 248,
  frequency: 249,
  aux: 250,
  sizes: 251,
  expireMs: 252,
  expireSeconds: 253,
  database: 254,
  end: 255,
} as const;

const [MODULE, MODULE_2] = [6, 7];
/** Of a key that is too long, what is shown. */
const SHOWN_BYTES = 64;

type Events = Generator<RdbEvent | undefined, void>;

export class RdbParser {
  readonly #units = new UnitReader();
  readonly #values: ValueReader;
  readonly #events: Events = this.#file();
  #deadlineMs: number | undefined;
  #isDone = false;

  constructor(wholeBytes: number = WHOLE_BYTES) {
    this.#values = new ValueReader(this.#units, wholeBytes);
  }

  /** Bytes of the file that were read. */
  get offset(): number {
    return this.#units.offset;
  }

  /** The file's end was read; what follows it is still here. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** What came behind the file's end. */
  rest(): Buffer {
    return this.#units.rest();
  }

  /** `chunk` is kept: nobody writes into it any more. */
  push(chunk: Buffer): void {
    this.#units.push(chunk);
  }

  /** Nothing comes any more. */
  close(): void {
    this.#units.close();
  }

  /** Undefined: more bytes are needed, or all has been told. Throws RdbFileError. */
  next(): RdbEvent | undefined {
    if (this.#isDone || !this.#units.hasNeeded) return undefined;
    const { value } = this.#events.next();
    return value ?? undefined;
  }

  *#file(): Events {
    const version = yield* this.#header();
    yield { kind: 'header', version };
    for (;;) {
      const offset = this.#units.offset;
      this.#units.doing = 'what comes after the last key';
      const code = yield* this.#units.unit(u8);
      if (code === opcodes.end) break;
      const event = yield* this.#other(code);
      if (event === undefined) yield* this.#key(code, offset);
      else if (event !== NOTHING) yield event;
    }
    const hasChecksum = version >= CHECKSUM_SINCE && (yield* this.#checksum());
    this.#isDone = true;
    yield { kind: 'end', hasChecksum };
  }

  *#header(): Units<number> {
    this.#units.doing = "the file's header";
    const text = yield* this.#units.unit((reader) => reader.raw(HEADER_BYTES).toString('latin1'));
    const version = /^REDIS(\d{4})$/.exec(text)?.[1];
    if (version === undefined) {
      throw this.#units.failure(`it does not begin with ${MAGIC} and four digits: no RDB file`);
    }
    if (Number(version) >= 1 && Number(version) <= VERSION_MAX) return Number(version);
    throw this.#units.failure(
      `the version ${Number(version)} of the format is not known (1 to ${VERSION_MAX} are)`,
    );
  }

  *#checksum(): Units<boolean> {
    this.#units.doing = "the file's checksum";
    const sum = this.#units.checksum();
    const told = Buffer.from(yield* this.#units.unit((reader) => reader.raw(CHECKSUM_BYTES)));
    if (told.equals(NO_CHECKSUM)) return false;
    if (told.equals(sum)) return true;
    throw this.#units.failure('the checksum is not that of the file: something in it is damaged');
  }

  /** What is no key; undefined: it is one. */
  *#other(code: number): Units<RdbEvent | typeof NOTHING | undefined> {
    const units = this.#units;
    switch (code) {
      case opcodes.expireMs:
        units.doing = 'a deadline';
        this.#deadlineMs = yield* units.unit(signedTime);
        return NOTHING;
      case opcodes.expireSeconds:
        units.doing = 'a deadline';
        this.#deadlineMs = 1_000 * (yield* units.unit((reader) => reader.raw(4).readInt32LE()));
        return NOTHING;
      case opcodes.idle:
        yield* units.unit((reader) => reader.u64());
        return NOTHING;
      case opcodes.frequency:
        yield* units.unit(u8);
        return NOTHING;
      case opcodes.slotInfo:
        for (let left = 3; left > 0; left--) yield* units.unit((reader) => reader.u64());
        return NOTHING;
      case opcodes.database:
        units.doing = 'the number of a database';
        return { kind: 'database', database: yield* units.unit(length) };
      case opcodes.sizes:
        units.doing = 'the sizes of a database';
        return yield* units.unit((reader) => ({
          kind: 'sizes' as const,
          keys: reader.number(),
          deadlines: reader.number(),
        }));
      default:
        return yield* this.#extra(code);
    }
  }

  *#extra(code: number): Units<RdbEvent | undefined> {
    const units = this.#units;
    switch (code) {
      case opcodes.aux: {
        units.doing = 'what the file tells of itself';
        const name = (yield* units.string(limits.valueBytesMax))?.toString('latin1') ?? '';
        const value = (yield* units.string(limits.valueBytesMax))?.toString('latin1') ?? '';
        return { kind: 'aux', name, value };
      }
      case opcodes.function:
      case opcodes.functionEarly: {
        units.doing = 'a library of functions';
        if (code === opcodes.functionEarly) {
          throw units.failure('functions as release candidates of Redis 7.0 wrote them');
        }
        const text = yield* units.string(limits.valueBytesMax);
        if (text !== undefined) return { kind: 'library', name: libraryName(text), code: text };
        const what = `a library of functions of more than ${limits.valueBytesMax} bytes`;
        return { kind: 'skipped', what };
      }
      case opcodes.moduleAux: {
        units.doing = "a module's data";
        const name = rdbModuleName(yield* units.unit((reader) => reader.u64()));
        // when it was to be loaded: a number behind its kind
        yield* units.unit((reader) => reader.length());
        yield* units.unit((reader) => reader.u64());
        yield* this.#values.over(moduleRest());
        return { kind: 'skipped', what: `data of the module ${name}` };
      }
      default:
        return undefined;
    }
  }

  *#key(type: number, offset: number): Events {
    const units = this.#units;
    units.doing = 'a key';
    const deadlineMs = this.#deadlineMs;
    this.#deadlineMs = undefined;
    if (!isKnownType(type) && type !== MODULE && type !== MODULE_2) {
      throw units.failure(`there is no type ${type}: it is damaged, or a newer Redis wrote it`);
    }
    const { key, bytes } = yield* this.#name();
    const head: KeyHead = { key, type, deadlineMs, offset };
    units.doing = head;
    if (bytes > limits.keyBytesMax) {
      yield* this.#values.over(type === MODULE_2 ? moduleWalk() : type);
      const why = `its name has ${bytes} bytes, more than ${limits.keyBytesMax}`;
      yield { kind: 'refused', head, why };
    } else if (type === MODULE) {
      throw units.failure('a value of a module as Redis 4.0 wrote it: nobody can read over it');
    } else if (type === MODULE_2) yield* this.#values.module(head);
    else if (type === rdbTypes.string) yield* this.#values.string(head);
    else yield* this.#values.collection(head);
  }

  /** The beginning of a name that is too long. */
  *#name(): Units<{ readonly key: Buffer; readonly bytes: number }> {
    try {
      const key = yield* this.#units.shortString(limits.keyBytesMax);
      return { key, bytes: key.length };
    } catch (failure) {
      if (!(failure instanceof TooLong)) throw failure;
    }
    const { stored, unpacked } = yield* this.#units.unit((reader) => reader.stringHead());
    const key = Buffer.from(yield* this.#units.unit((reader) => reader.raw(SHOWN_BYTES)));
    yield* this.#units.skip(stored - SHOWN_BYTES);
    return { key, bytes: Math.max(stored, unpacked) };
  }
}

/** Neither a key nor anything to be told. */
const NOTHING = 'nothing';

const u8 = (reader: RdbReader) => reader.u8();
const length = (reader: RdbReader) => reader.length();

/** What its first line says, also where that is none. */
function libraryName(code: Buffer): string {
  const metadata = parseMetadata(code);
  if (metadata.ok) return metadata.name;
  return code.toString('latin1', 0, SHOWN_BYTES).split('\n', 1)[0]!;
}

/** Deadlines may lie before 1970. */
function signedTime(reader: RdbReader): number {
  return Number(reader.raw(8).readBigInt64LE());
}
