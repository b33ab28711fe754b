/** `math`, with the random numbers of Redis. */

import { scaleByPowerOfTwo, splitByPowerOfTwo } from '../values/binary.ts';
import { LuaError } from '../values/error.ts';
import { type Library, type Meter, type NativeFunction, native } from '../values/function.ts';
import { power } from '../values/power.ts';
import type { LuaValue } from '../values/value.ts';
import { type Args, checkInt, checkNumber, refuse } from './arguments.ts';
import { perRun } from './per-run.ts';
import { RandomNumbers } from './random.ts';

const RADIANS_PER_DEGREE = Math.PI / 180;

const randomNumbers = perRun(() => new RandomNumbers());

/** Where the numbers of one run begin; without this, where Redis begins. */
export function seedRandomNumbers(meter: Meter, seed: number): void {
  randomNumbers(meter).seed(seed);
}

function ofOne(name: string, run: (x: number) => number): NativeFunction {
  return native(name, (args, meter) => [run(checkNumber(args, 1, name, meter))]);
}

/** The second one is looked at first, as Redis's compiler has it. */
function ofTwo(name: string, run: (x: number, y: number) => number): NativeFunction {
  return native(name, (args, meter) => {
    const second = checkNumber(args, 2, name, meter);
    return [run(checkNumber(args, 1, name, meter), second)];
  });
}

/** The first of all that is better than those before it. */
function best(name: string, isBetter: (x: number, y: number) => boolean): NativeFunction {
  return native(name, (args, meter) => {
    meter.steps(args.length);
    let found = checkNumber(args, 1, name, meter);
    for (let at = 2; at <= args.length; at++) {
      const other = checkNumber(args, at, name, meter);
      if (isBetter(other, found)) found = other;
    }
    return [found];
  });
}

function random(args: Args, meter: Meter): readonly LuaValue[] {
  const drawn = randomNumbers(meter).next();
  if (args.length === 0) return [drawn];
  if (args.length > 2) throw new LuaError('wrong number of arguments');
  const first = checkInt(args, 1, 'random', meter);
  if (args.length === 1) {
    if (first < 1) refuse(1, 'random', 'interval is empty');
    return [Math.floor(drawn * first) + 1];
  }
  const last = checkInt(args, 2, 'random', meter);
  if (first > last) refuse(2, 'random', 'interval is empty');
  // The count has 32 bits in Redis as well.
  return [Math.floor(drawn * ((last - first + 1) | 0)) + first];
}

function randomseed(args: Args, meter: Meter): readonly LuaValue[] {
  randomNumbers(meter).seed(checkInt(args, 1, 'randomseed', meter));
  return [];
}

/** The part before the point, and the one behind it; both have the sign. */
function modf(args: Args, meter: Meter): readonly LuaValue[] {
  const n = checkNumber(args, 1, 'modf', meter);
  const whole = Math.trunc(n);
  if (!Number.isFinite(n)) return [n, Number.isNaN(n) ? n : n < 0 ? -0 : 0];
  const rest = n - whole;
  return [whole, rest === 0 && (n < 0 || Object.is(n, -0)) ? -0 : rest];
}

function frexp(args: Args, meter: Meter): readonly LuaValue[] {
  return splitByPowerOfTwo(checkNumber(args, 1, 'frexp', meter));
}

function ldexp(args: Args, meter: Meter): readonly LuaValue[] {
  const exponent = checkInt(args, 2, 'ldexp', meter);
  return [scaleByPowerOfTwo(checkNumber(args, 1, 'ldexp', meter), exponent)];
}

export function mathLibrary(): Library {
  return {
    abs: ofOne('abs', Math.abs),
    acos: ofOne('acos', Math.acos),
    asin: ofOne('asin', Math.asin),
    atan: ofOne('atan', Math.atan),
    atan2: ofTwo('atan2', Math.atan2),
    ceil: ofOne('ceil', Math.ceil),
    cos: ofOne('cos', Math.cos),
    cosh: ofOne('cosh', Math.cosh),
    deg: ofOne('deg', (x) => x / RADIANS_PER_DEGREE),
    exp: ofOne('exp', Math.exp),
    floor: ofOne('floor', Math.floor),
    fmod: ofTwo('fmod', (x, y) => x % y),
    frexp: native('frexp', frexp),
    huge: Infinity,
    ldexp: native('ldexp', ldexp),
    log: ofOne('log', Math.log),
    log10: ofOne('log10', Math.log10),
    max: best('max', (x, y) => x > y),
    min: best('min', (x, y) => x < y),
    mod: ofTwo('mod', (x, y) => x % y),
    modf: native('modf', modf),
    pi: Math.PI,
    pow: native('pow', (args, meter) => {
      meter.steps(16);
      const exponent = checkNumber(args, 2, 'pow', meter);
      return [power(checkNumber(args, 1, 'pow', meter), exponent)];
    }),
    rad: ofOne('rad', (x) => x * RADIANS_PER_DEGREE),
    random: native('random', random),
    randomseed: native('randomseed', randomseed),
    sin: ofOne('sin', Math.sin),
    sinh: ofOne('sinh', Math.sinh),
    sqrt: ofOne('sqrt', Math.sqrt),
    tan: ofOne('tan', Math.tan),
    tanh: ofOne('tanh', Math.tanh),
  };
}
