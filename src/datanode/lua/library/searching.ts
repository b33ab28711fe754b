/** `string.find`, `string.match` and `string.gmatch`. */
import { type Meter, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import { isTruthy } from '../values/value.ts';
import { type Args, checkText, optionalInteger } from './arguments.ts';
import { MATCH_STEPS, Matcher } from './matching.ts';
import { searchPlain } from './plain-search.ts';
import { position } from './string-position.ts';

const SPECIALS = /[$*+?.([%^-]/;

/** The text, the pattern, and where to begin, counted from 0. */
function searched(args: Args, name: string, meter: Meter): readonly [string, string, number] {
  const text = checkText(args, 1, name, meter);
  const pattern = checkText(args, 2, name, meter);
  const start = position(optionalInteger(args, 3, name, meter, 1), text.length) - 1;
  return [text, pattern, Math.min(Math.max(start, 0), text.length)];
}

export function find(args: Args, meter: Meter): readonly LuaValue[] {
  const [text, pattern, start] = searched(args, 'find', meter);
  if (isTruthy(args[3]) || isPlain(pattern, meter)) return findPlain(text, pattern, start, meter);
  const [matcher, found] = search(text, pattern, start, meter);
  if (found === undefined) return [undefined];
  const captures = matcher.captureCount === 0 ? [] : matcher.captures(found[0], found[1]);
  return [found[0] + 1, found[1], ...captures];
}

export function match(args: Args, meter: Meter): readonly LuaValue[] {
  const [text, pattern, start] = searched(args, 'match', meter);
  const [matcher, found] = search(text, pattern, start, meter);
  return found === undefined ? [undefined] : matcher.captures(found[0], found[1]);
}

function search(
  text: string,
  pattern: string,
  start: number,
  meter: Meter,
): readonly [Matcher, readonly [number, number] | undefined] {
  const isAnchored = pattern.startsWith('^');
  const matcher = new Matcher(text, isAnchored ? pattern.slice(1) : pattern, meter);
  const found = matcher.search(start, isAnchored);
  matcher.settle();
  return [matcher, found];
}

/** Only what comes before a zero byte is looked at. */
function isPlain(pattern: string, meter: Meter): boolean {
  meter.steps(pattern.length);
  const special = pattern.search(SPECIALS);
  if (special < 0) return true;
  const zero = pattern.indexOf('\0');
  return zero >= 0 && zero < special;
}

function findPlain(text: string, piece: string, start: number, meter: Meter): readonly LuaValue[] {
  const at = searchPlain(text, piece, start, meter);
  return at < 0 ? [undefined] : [at + 1, at + piece.length];
}

/** A function that answers the next match with each call; `^` means itself here. */
export function gmatch(args: Args, meter: Meter): readonly LuaValue[] {
  const text = checkText(args, 1, 'gmatch', meter);
  const pattern = checkText(args, 2, 'gmatch', meter);
  const matcher = new Matcher(text, pattern, meter);
  meter.bytes(64);
  let at = 0;
  const next = () => {
    const found = at <= text.length ? matcher.search(at, false) : undefined;
    matcher.settle();
    if (found === undefined) return [];
    const [start, end] = found;
    meter.steps(MATCH_STEPS);
    at = end === start ? end + 1 : end;
    return matcher.captures(start, end);
  };
  return [native('?', next)];
}
