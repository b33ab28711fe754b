/**
 * The text of a document with another value at one place: the same bytes as if all of it were parsed and written
 * anew. Undefined: it may be larger or deeper than a document is; who parses it finds out and says how.
 */
import { limits } from '../../../common/limits.ts';
import type { Slices } from '../steps/slices.ts';
import type { JsonPath } from './json-path.ts';
import { countValues, findText } from './json-scan.ts';
import { jsonText } from './json-text.ts';
import { DEPTH_MAX, type Json, JsonError } from './json-value.ts';

/** `part`: what `findText` has found in `text` at `path`. */
export function* withPart(
  text: Buffer,
  part: Buffer,
  { steps }: JsonPath,
  value: Json,
): Slices<Buffer | undefined> {
  const inner = yield* textWithin(value, steps.length);
  return inner && (yield* spliced(text, part, [inner]));
}

/** With a member more in the object that lies right above the path. Undefined also where there is none. */
export function* withNewMember(
  text: Buffer,
  path: JsonPath,
  name: string,
  value: Json,
): Slices<Buffer | undefined> {
  const object = yield* findText(text, { ...path, steps: path.steps.slice(0, -1) });
  if (object?.[0] !== BEGIN_OBJECT) return undefined;
  const inner = yield* textWithin(value, path.steps.length);
  if (inner === undefined) return undefined;
  const head = `${object.length === EMPTY_BYTES ? '' : ','}${JSON.stringify(name)}:`;
  const before = object.subarray(0, -1);
  return yield* spliced(text, object, [before, Buffer.from(head), inner, END_OBJECT]);
}

const BEGIN_OBJECT = 0x7b;
const END_OBJECT = Buffer.from('}');
const EMPTY_BYTES = 2;
const TEXT_MAX = { values: limits.jsonValuesMax, characters: limits.valueBytesMax };

/** Of a value that lies in so many containers. */
function* textWithin(value: Json, above: number): Slices<Buffer | undefined> {
  try {
    return Buffer.from(yield* jsonText(value, { ...TEXT_MAX, depth: DEPTH_MAX - above }));
  } catch (failure) {
    if (failure instanceof JsonError) return undefined;
    throw failure;
  }
}

/** `text` with `pieces` in the place of `part`, which is a part of its memory. */
function* spliced(
  text: Buffer,
  part: Buffer,
  pieces: readonly Buffer[],
): Slices<Buffer | undefined> {
  const from = part.byteOffset - text.byteOffset;
  const whole = Buffer.concat([
    text.subarray(0, from),
    ...pieces,
    text.subarray(from + part.length),
  ]);
  if (whole.length > limits.valueBytesMax) return undefined;
  // none takes less than two bytes, with the comma or the brackets around it
  const mayBeTooMany = whole.length >= 2 * limits.jsonValuesMax;
  if (mayBeTooMany && (yield* countValues(whole)) > limits.jsonValuesMax) return undefined;
  return whole;
}
