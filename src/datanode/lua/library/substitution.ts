/** `string.gsub`. */
import { LuaError } from '../values/error.ts';
import type { LuaRequest, LuaRun, Meter } from '../values/function.ts';
import { formatNumber } from '../values/numbers.ts';
import { LuaTable } from '../values/table.ts';
import { isTruthy, type LuaValue, typeName } from '../values/value.ts';
import { type Args, checkText, optionalInt, refuse } from './arguments.ts';
import { isDigitCode } from './characters.ts';
import { callFor, indexed } from './indexing.ts';
import { MATCH_STEPS, Matcher } from './matching.ts';
import { Pieces } from './pieces.ts';

const TAKEN: readonly string[] = ['number', 'string', 'table', 'function'];

export function gsub(args: Args, meter: Meter): readonly LuaValue[] | LuaRun {
  const text = checkText(args, 1, 'gsub', meter);
  const pattern = checkText(args, 2, 'gsub', meter);
  const countMax = optionalInt(args, 4, 'gsub', meter, text.length + 1);
  const replacement = args[2];
  if (!TAKEN.includes(typeName(replacement))) {
    refuse(3, 'gsub', 'string/function/table expected');
  }
  const walk = new Walk(text, pattern, countMax, meter);
  if (typeof replacement !== 'string' && typeof replacement !== 'number') {
    return gsubBy(walk, replacement);
  }
  const template = checkText(args, 3, 'gsub', meter);
  while (walk.next()) walk.addTemplate(template);
  return walk.results();
}

function* gsubBy(walk: Walk, replacement: LuaValue): LuaRun {
  while (walk.next()) {
    const value = yield* replaced(walk, replacement);
    if (!isTruthy(value)) walk.add(walk.found);
    else if (typeof value === 'string') walk.add(value);
    else if (typeof value === 'number') walk.add(formatNumber(value));
    else throw new LuaError(`invalid replacement value (a ${typeName(value)})`);
  }
  return walk.results();
}

function replaced(
  walk: Walk,
  replacement: LuaValue,
): Generator<LuaRequest, LuaValue, readonly LuaValue[]> {
  if (replacement instanceof LuaTable) return indexed(replacement, walk.firstCapture);
  return callFor(replacement, walk.captures);
}

/** From match to match; what lies between them is taken over. */
class Walk {
  readonly #text: string;
  readonly #isAnchored: boolean;
  readonly #matcher: Matcher;
  readonly #countMax: number;
  readonly #pieces: Pieces;
  readonly #meter: Meter;
  #count = 0;
  /** Up to here the text is written. */
  #written = 0;
  /** Where the next match may begin. */
  #at = 0;
  #start = 0;
  #end = 0;

  constructor(text: string, pattern: string, countMax: number, meter: Meter) {
    this.#text = text;
    this.#isAnchored = pattern.startsWith('^');
    this.#matcher = new Matcher(text, this.#isAnchored ? pattern.slice(1) : pattern, meter);
    this.#countMax = countMax;
    this.#pieces = new Pieces(meter);
    this.#meter = meter;
  }

  /** Whether there is another match; what stands before it has then been taken over. */
  next(): boolean {
    if (this.#count >= this.#countMax || this.#at > this.#text.length) return false;
    if (this.#isAnchored && this.#count > 0) return false;
    const match = this.#matcher.search(this.#at, this.#isAnchored);
    if (match === undefined) return false;
    [this.#start, this.#end] = match;
    this.#count++;
    this.#meter.steps(MATCH_STEPS);
    this.#take(this.#start);
    this.#written = this.#end;
    // An empty match is not found again: the next one begins behind the next byte.
    this.#at = this.#end > this.#start ? this.#end : this.#end + 1;
    return true;
  }

  get found(): string {
    return this.#text.slice(this.#start, this.#end);
  }

  get firstCapture(): LuaValue {
    return this.#matcher.capture(0, this.#start, this.#end);
  }

  get captures(): LuaValue[] {
    return this.#matcher.captures(this.#start, this.#end);
  }

  add(piece: string): void {
    this.#pieces.add(piece);
  }

  /** `%1` is the first capture, `%0` the whole match, `%` with anything else that. */
  addTemplate(template: string): void {
    this.#meter.steps(template.length);
    let from = 0;
    for (;;) {
      const percent = template.indexOf('%', from);
      if (percent < 0) break;
      if (percent > from) this.add(template.slice(from, percent));
      this.add(this.#escaped(template.charCodeAt(percent + 1)));
      from = percent + 2;
    }
    if (from < template.length) this.add(from === 0 ? template : template.slice(from));
  }

  results(): readonly LuaValue[] {
    this.#take(this.#text.length);
    this.#matcher.settle();
    return [this.#pieces.text(), this.#count];
  }

  #escaped(code: number): string {
    // Behind the last byte of a string of C there is a zero.
    if (Number.isNaN(code)) return '\0';
    if (!isDigitCode(code)) return String.fromCharCode(code);
    if (code === 48) return this.found;
    const capture = this.#matcher.capture(code - 49, this.#start, this.#end);
    return typeof capture === 'number' ? formatNumber(capture) : capture;
  }

  #take(end: number): void {
    if (end > this.#written) this.add(this.#text.slice(this.#written, end));
  }
}
