/** What functions of libraries take: checked, converted, and refused with Lua's texts. */
import { LuaArgumentError } from '../values/argument-error.ts';
import type { LuaFunction, Meter } from '../values/function.ts';
import { formatNumber, parseNumber } from '../values/numbers.ts';
import { LuaTable } from '../values/table.ts';
import { type LuaValue, typeName } from '../values/value.ts';
import { toInt, toInteger } from './integers.ts';
import { numberText } from './number-text.ts';

export type Args = readonly LuaValue[];

/** `at` counts from 1, as messages do; `name` is that of the function. */
export function refuse(at: number, name: string, reason: string): never {
  throw new LuaArgumentError(at, name, reason);
}

function refuseType(args: Args, at: number, name: string, expected: string): never {
  const got = at > args.length ? 'no value' : typeName(args[at - 1]);
  return refuse(at, name, `${expected} expected, got ${got}`);
}

/** A string, or a number as one. */
export function checkText(args: Args, at: number, name: string, meter?: Meter): string {
  const value = args[at - 1];
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return meter ? numberText(value, meter) : formatNumber(value);
  return refuseType(args, at, name, 'string');
}

export function optionalText(
  args: Args,
  at: number,
  name: string,
  otherwise: string,
  meter?: Meter,
): string {
  return args[at - 1] === undefined ? otherwise : checkText(args, at, name, meter);
}

/** A number, or a string that reads as one. */
export function checkNumber(args: Args, at: number, name: string, meter: Meter): number {
  const value = args[at - 1];
  if (typeof value === 'number') return value;
  return numberOf(value, meter) ?? refuseType(args, at, name, 'number');
}

/** Undefined where it is none, nor reads as one. */
export function numberOf(value: LuaValue, meter: Meter): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  meter.steps(value.length);
  return parseNumber(value);
}

/** Of 64 bits, as a double. */
export function checkInteger(args: Args, at: number, name: string, meter: Meter): number {
  return toInteger(checkNumber(args, at, name, meter));
}

export function optionalInteger(
  args: Args,
  at: number,
  name: string,
  meter: Meter,
  otherwise: number,
): number {
  return args[at - 1] === undefined ? otherwise : checkInteger(args, at, name, meter);
}

/** Of 32 bits. */
export function checkInt(args: Args, at: number, name: string, meter: Meter): number {
  return toInt(checkNumber(args, at, name, meter));
}

export function optionalInt(
  args: Args,
  at: number,
  name: string,
  meter: Meter,
  otherwise: number,
): number {
  return args[at - 1] === undefined ? otherwise : checkInt(args, at, name, meter);
}

export function checkTable(args: Args, at: number, name: string): LuaTable {
  const value = args[at - 1];
  return value instanceof LuaTable ? value : refuseType(args, at, name, 'table');
}

export function checkFunction(args: Args, at: number, name: string): LuaFunction {
  const value = args[at - 1];
  if (typeName(value) !== 'function') return refuseType(args, at, name, 'function');
  return value as LuaFunction;
}
