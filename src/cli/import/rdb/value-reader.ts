/** The values of an RDB file: small ones as a whole, larger ones in parts, and over what nobody takes. */
import { limits } from '../../../common/limits.ts';
import { scoreText } from '../../../datanode/encoding/rdb/rdb-decode.ts';
import { rdbModuleParts, refusalOfModule } from '../../../datanode/encoding/rdb/rdb-json.ts';
import { encodeRdbJson, RDB_JSON_TYPE_BYTE } from '../../../datanode/encoding/rdb/rdb-json-dump.ts';
import { RdbError, type RdbReader } from '../../../datanode/encoding/rdb/rdb-reader.ts';
import type { KeyHead, RdbEvent, RdbPart } from './rdb-events.ts';
import { TooLong, type UnitReader, type Units } from './unit-reader.ts';
import { type Answer, moduleRest, type Step, valueWalk, type Walk } from './value-walk.ts';

/** What elements are packed in may have more bytes than one of them; 8 KiB unless set otherwise. */
const PACKED_BYTES_MAX = 64 * 1_048_576;

type Events = Generator<RdbEvent | undefined, void>;

export class ValueReader {
  readonly #units: UnitReader;
  readonly #wholeBytes: number;

  /** A value of so many bytes, unpacked, is handed on as a whole. */
  constructor(units: UnitReader, wholeBytes: number) {
    this.#units = units;
    this.#wholeBytes = wholeBytes;
  }

  *string(head: KeyHead): Events {
    const bytes = yield* this.#units.string(limits.valueBytesMax);
    if (bytes !== undefined) yield { kind: 'string', head, bytes };
    else yield { kind: 'refused', head, why: TOO_LONG };
  }

  /** Of modules only JSON documents are taken. */
  *module(head: KeyHead): Events {
    let refusal = refusalOfModule(yield* this.#units.unit(number));
    if (refusal === undefined) {
      const body = yield* this.#document();
      if (body !== undefined) {
        yield { kind: 'whole', head, body };
        return;
      }
      refusal = TOO_LONG;
    } else {
      yield* this.over(moduleRest());
    }
    yield { kind: 'refused', head, why: refusal };
  }

  /** As RESTORE takes it; undefined: it is too long. */
  *#document(): Units<Buffer | undefined> {
    if ((yield* this.#units.unit(length)) !== rdbModuleParts.string) {
      throw this.#units.failure('a JSON document without its text');
    }
    const text = yield* this.#units.string(limits.valueBytesMax);
    if ((yield* this.#units.unit(length)) !== rdbModuleParts.end) {
      throw this.#units.failure('a JSON document that does not end');
    }
    return text && Buffer.concat([RDB_JSON_TYPE_BYTE, ...encodeRdbJson(text)]);
  }

  *collection(head: KeyHead): Events {
    try {
      const body = yield* this.#units.unit((reader) =>
        wholeBody(reader, head.type, this.#wholeBytes),
      );
      yield { kind: 'whole', head, body };
      return;
    } catch (failure) {
      if (!(failure instanceof TooLong)) throw failure;
    }
    yield { kind: 'large', head };
    const refused = yield* this.#parts(valueWalk(head.type));
    yield { kind: 'endOfLarge', head, refused };
  }

  /** Reads over a value; what its walk comes to. */
  *over<T>(what: number | Walk<T>): Units<T> {
    const walk = (typeof what === 'number' ? valueWalk(what) : what) as Walk<T>;
    let answer: Answer;
    for (;;) {
      const { done, value } = this.#next(walk, answer);
      if (done) return value as T;
      answer = yield* this.#answer(value as Step, true);
    }
  }

  /** Why the rest was left out. */
  *#parts(walk: Walk): Generator<RdbEvent | undefined, string | undefined> {
    let refused: string | undefined;
    let answer: Answer;
    for (;;) {
      const { done, value: step } = this.#next(walk, answer);
      if (done) return refused;
      if (typeof step === 'object' && step.kind === 'refuse') refused ??= step.why;
      else if (typeof step === 'object') {
        const why = refused === undefined ? partRefused(step) : undefined;
        refused ??= why;
        if (refused === undefined) yield { kind: 'part', part: step };
      } else {
        answer = yield* this.#answer(step, refused !== undefined);
        if (isString(step) && answer === undefined) refused ??= TOO_LONG;
      }
    }
  }

  #next<T>(walk: Walk<T>, answer: Answer): IteratorResult<Step, T> {
    try {
      return walk.next(answer);
    } catch (failure) {
      if (failure instanceof RdbError) throw this.#units.failure(failure.message);
      throw failure;
    }
  }

  *#answer(step: Step, isOver: boolean): Units<Answer> {
    switch (step) {
      case 'length':
        return yield* this.#units.unit(length);
      case 'number':
        return yield* this.#units.unit(number);
      case 'score':
        return yield* this.#units.unit(scoreText);
      case 'string':
      case 'packed':
        if (!isOver) {
          return yield* this.#units.string(
            step === 'packed' ? PACKED_BYTES_MAX : limits.valueBytesMax,
          );
        }
        yield* this.#units.overString();
        return undefined;
      default:
        if (typeof step !== 'number') return undefined;
        return yield* this.#units.unit((reader) => reader.raw(step));
    }
  }
}

const TOO_LONG = `a string in it has more than ${limits.valueBytesMax} bytes`;

const length = (reader: RdbReader) => reader.length();
const number = (reader: RdbReader) => reader.u64();

function isString(step: Step): boolean {
  return step === 'string' || step === 'packed';
}

/** Elements that were packed are known only now. */
function partRefused(part: RdbPart): string | undefined {
  for (const bytes of stringsOf(part)) if (bytes.length > limits.valueBytesMax) return TOO_LONG;
  return undefined;
}

function stringsOf(part: RdbPart): readonly Buffer[] {
  switch (part.kind) {
    case 'element':
      return [part.element];
    case 'field':
      return [part.field, part.value];
    case 'member':
      return [part.member];
    case 'entry':
      return part.fields;
    default:
      return [];
  }
}

/** Type and value; TooLong when it is for parts. */
function wholeBody(reader: RdbReader, type: number, bytesMax: number): Buffer {
  const walk = valueWalk(type);
  let unpacked = 0;
  let answer: Answer;
  for (let step = walk.next(); !step.done; step = walk.next(answer)) {
    if (isString(step.value)) {
      const head = reader.stringHead();
      unpacked += head.unpacked;
      const end = reader.position + head.stored;
      if (Math.max(unpacked, end) > bytesMax) throw new TooLong();
      reader.raw(head.stored);
      answer = undefined;
    } else answer = answered(reader, step.value);
    if (reader.position > bytesMax) throw new TooLong();
  }
  return Buffer.concat([Buffer.of(type), reader.since(0)]);
}

function answered(reader: RdbReader, step: Step): Answer {
  switch (step) {
    case 'length':
      return reader.length();
    case 'number':
      return reader.u64();
    case 'score':
      return scoreText(reader);
    default:
      return typeof step === 'number' ? reader.raw(step) : undefined;
  }
}
