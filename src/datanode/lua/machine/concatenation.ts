/** `a .. b .. c`: from the right, over all operands at once. */
import { aOf, bOf, cOf } from '../syntax/opcodes.ts';
import { ScriptLimitError } from '../values/error.ts';
import { formatNumber } from '../values/numbers.ts';
import type { LuaValue } from '../values/value.ts';
import { formatSteps } from './costs.ts';
import { typeError } from './errors.ts';
import { RESULT } from './frame.ts';
import { callHandler } from './handlers.ts';
import { metamethod } from './metatables.ts';
import type { Thread } from './thread.ts';

/** Longer ones are beyond what hosts can have. */
const LENGTH_MAX = 2 ** 28;

export function opConcatenate(t: Thread, i: number): void {
  const first = t.base + bOf(i);
  let last = t.concatenated >= 0 ? t.concatenated : t.base + cOf(i);
  t.concatenated = -1;
  while (last > first) {
    const from = joinable(t, first, last);
    if (from < last) {
      join(t, from, last);
      last = from;
      continue;
    }
    const [x, y] = [t.stack[last - 1], t.stack[last]];
    const handler = metamethod(t, x, '__concat') ?? metamethod(t, y, '__concat');
    if (handler === undefined) throw concatenationError(t, x, last);
    return callHandler(t, handler, [x, y], RESULT.concatenation, last - 1);
  }
  t.stack[t.base + aOf(i)] = t.stack[first];
}

/** From which register on all are strings or numbers. */
function joinable(t: Thread, first: number, last: number): number {
  let from = last + 1;
  while (from > first && isText(t.stack[from - 1])) from -= 1;
  return from;
}

function join(t: Thread, from: number, last: number): void {
  const parts: string[] = [];
  let length = 0;
  for (let at = from; at <= last; at++) {
    const text = textOf(t, t.stack[at]);
    length += text.length;
    parts.push(text);
  }
  t.machine.bytes(length);
  if (length > LENGTH_MAX) throw new ScriptLimitError('a string is too long');
  let joined = parts[0]!;
  for (let n = 1; n < parts.length; n++) joined += parts[n];
  t.stack[from] = joined;
}

function concatenationError(t: Thread, x: LuaValue, last: number): Error {
  const blamed = isText(x) ? last : last - 1;
  return typeError(t, t.stack[blamed], 'concatenate', blamed - t.base);
}

function isText(value: LuaValue): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function textOf(t: Thread, value: LuaValue): string {
  if (typeof value !== 'number') return value as string;
  t.machine.steps(formatSteps(value));
  return formatNumber(value);
}
