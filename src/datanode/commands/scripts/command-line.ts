/** The arguments of `redis.call` as a command has them. */
import { limits } from '../../../common/limits.ts';
import { generalDecimal } from '../../lua/values/decimal.ts';
import type { Meter } from '../../lua/values/function.ts';
import { unusualText } from '../../lua/values/numbers.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import { raised } from './script-errors.ts';

/** C's `%.17g`, which Redis writes numbers with here. */
const DIGITS = 17;
/** Whole numbers up to here are written as integers are. */
const WHOLE_MAX = 1e15;

/** Throws LuaError. */
export function commandLine(values: readonly LuaValue[], meter: Meter): readonly Buffer[] {
  if (values.length === 0) {
    throw raised('Please specify at least one argument for this redis lib call');
  }
  if (values.length > limits.requestArgumentsMax) {
    throw raised(`a command has ${limits.requestArgumentsMax} arguments at most`);
  }
  meter.steps(values.length);
  return values.map((value) => {
    const bytes = argumentOf(value);
    meter.bytes(bytes.length);
    return bytes;
  });
}

function argumentOf(value: LuaValue): Buffer {
  if (typeof value === 'string') {
    if (value.length <= limits.valueBytesMax) return Buffer.from(value, 'latin1');
    throw raised(`an argument of ${value.length} bytes is longer than ${limits.valueBytesMax}`);
  }
  if (typeof value === 'number') return Buffer.from(numberText(value));
  throw raised('Lua redis lib command arguments must be strings or integers');
}

function numberText(n: number): string {
  if (Number.isInteger(n) && Math.abs(n) < WHOLE_MAX) {
    return Object.is(n, -0) ? '-0' : String(n);
  }
  if (!Number.isFinite(n)) return unusualText(n);
  return n < 0 ? `-${generalDecimal(-n, DIGITS)}` : generalDecimal(n, DIGITS);
}
