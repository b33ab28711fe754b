/**
 * Where one value stands in the text of a stored document: to look for it passes bytes, and makes nothing of
 * all that lies beside it. Stored texts are sound and without a space, and their names are written in one way.
 */
import { GLANCE, type Slices } from '../steps/slices.ts';
import { type JsonPath, soleName } from './json-path.ts';
import type { PathStep } from './json-steps.ts';
import { JsonError } from './json-value.ts';

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [BEGIN_ARRAY, END_ARRAY, BEGIN_OBJECT, END_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Bytes outside of strings, and strings, between two looks at the clock: some 10 µs. */
const GLANCE_MARKS = 4_096;

/** The text of the value that a path names which names one at most (`isStatic`); undefined: there is none. */
export function* findText(text: Buffer, { steps }: JsonPath): Slices<Buffer | undefined> {
  let at = 0;
  for (const step of steps) {
    const inner = yield* stepInto(text, at, step);
    if (inner === undefined) return undefined;
    at = inner;
  }
  return text.subarray(at, yield* endOfValue(text, at));
}

/** Where the value begins that the step names in the one at `at`. */
function stepInto(text: Buffer, at: number, step: PathStep): Slices<number | undefined> {
  const name = soleName(step);
  if (name !== undefined) return member(text, at, Buffer.from(JSON.stringify(name)));
  return element(text, at, step.kind === 'indexes' ? step.indexes[0]! : 0);
}

/** `name`: with its quotes. */
function* member(text: Buffer, begin: number, name: Buffer): Slices<number | undefined> {
  if (text[begin] !== BEGIN_OBJECT || text[begin + 1] === END_OBJECT) return undefined;
  for (let at = begin + 1, met = 1; ; at++, met++) {
    if (met % GLANCE_MARKS === 0) yield GLANCE;
    const end = endOfString(text, at);
    if (end - at === name.length && name.compare(text, at, end) === 0) return end + 1;
    at = isContainerAt(text, end + 1)
      ? yield* endOfValue(text, end + 1)
      : endOfScalar(text, end + 1);
    if (text[at] !== COMMA) return undefined;
  }
}

function* element(text: Buffer, begin: number, index: number): Slices<number | undefined> {
  if (text[begin] !== BEGIN_ARRAY || text[begin + 1] === END_ARRAY) return undefined;
  // of one that is counted from the end, all are passed
  const begins: number[] = [];
  for (let at = begin + 1, met = 0; ; at++, met++) {
    if (met % GLANCE_MARKS === GLANCE_MARKS - 1) yield GLANCE;
    if (met === index) return at;
    if (index < 0) begins.push(at);
    at = isContainerAt(text, at) ? yield* endOfValue(text, at) : endOfScalar(text, at);
    if (text[at] !== COMMA) return begins.at(index);
  }
}

/** Behind the value that begins at `begin`. */
function* endOfValue(text: Buffer, begin: number): Slices<number> {
  if (!isContainerAt(text, begin)) return endOfScalar(text, begin);
  let at = begin;
  for (let depth = 0, met = 1; ; met++) {
    if (met % GLANCE_MARKS === 0) yield GLANCE;
    const mark = text[at];
    if (mark === undefined) throw cutShort();
    at = mark === QUOTE ? endOfString(text, at) : at + 1;
    if (mark === BEGIN_ARRAY || mark === BEGIN_OBJECT) depth++;
    else if ((mark === END_ARRAY || mark === END_OBJECT) && --depth === 0) return at;
  }
}

function isContainerAt(text: Buffer, at: number): boolean {
  return text[at] === BEGIN_ARRAY || text[at] === BEGIN_OBJECT;
}

function endOfScalar(text: Buffer, begin: number): number {
  if (text[begin] === QUOTE) return endOfString(text, begin);
  let at = begin;
  while (at < text.length && !isEnd(text[at]!)) at++;
  return at;
}

/** Of a stored text, the document itself and all in it. */
export function* countValues(text: Buffer): Slices<number> {
  let count = 1;
  let at = 0;
  for (let met = 1; at < text.length; met++) {
    if (met % GLANCE_MARKS === 0) yield GLANCE;
    const mark = text[at]!;
    const isFilled = isContainerAt(text, at) && !isEnd(text[at + 1]!);
    if (mark === COMMA || isFilled) count++;
    at = mark === QUOTE ? endOfString(text, at) : at + 1;
  }
  return count;
}

/** Of a number or a word. */
function isEnd(mark: number): boolean {
  return mark === COMMA || mark === END_ARRAY || mark === END_OBJECT;
}

/** Behind the quote that ends the string which begins at `begin`. */
function endOfString(text: Buffer, begin: number): number {
  let at = begin + 1;
  for (let mark = text[at]; mark !== QUOTE; mark = text[at]) {
    if (mark === undefined) throw cutShort();
    at += mark === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

/** A record that no build writes: whoever meets one is told, and does not look on for ever. */
function cutShort(): JsonError {
  return new JsonError('the stored document is cut short');
}
