/** `type`, `tostring`, `tonumber`, and what is told of memory. */
import { checkInt, checkText, numberOf, optionalText, refuse } from '../../library/arguments.ts';
import { type Library, type LuaRun, type Meter, native } from '../../values/function.ts';
import { formatNumber } from '../../values/numbers.ts';
import { LuaTable } from '../../values/table.ts';
import { LuaUserdata } from '../../values/userdata.ts';
import { type LuaValue, typeName } from '../../values/value.ts';
import { formatSteps } from '../costs.ts';
import type { Machine } from '../machine.ts';
import { checkAny } from './arguments.ts';

const DECIMAL = 10;
const BASE_MAX = 36;

const type = native('type', (args) => {
  checkAny(args, 1, 'type');
  return [typeName(args[0])];
});

const tostring = native('tostring', (args, meter) => {
  checkAny(args, 1, 'tostring');
  const [value] = args;
  const handler = value instanceof LuaTable ? value.metatable?.get('__tostring') : undefined;
  if (handler !== undefined) return callOne(handler, value);
  const text = textOf(value, meter);
  meter.bytes(text.length);
  return [text];
});

function* callOne(callee: LuaValue, value: LuaValue): LuaRun {
  const results = yield { kind: 'call', callee, args: [value] };
  return [results[0]];
}

function textOf(value: LuaValue, meter: Meter): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
      return String(value);
    case 'number':
      meter.steps(formatSteps(value));
      return formatNumber(value);
    case 'string':
      return value;
    default:
      if (value instanceof LuaUserdata) return value.text;
      return `${typeName(value)}: ${(meter as Machine).addressOf(value)}`;
  }
}

const tonumber = native('tonumber', (args, meter) => {
  const base = args[1] === undefined ? DECIMAL : checkInt(args, 2, 'tonumber', meter);
  if (base === DECIMAL) {
    checkAny(args, 1, 'tonumber');
    return [numberOf(args[0], meter)];
  }
  const text = checkText(args, 1, 'tonumber');
  if (base < 2 || base > BASE_MAX) refuse(2, 'tonumber', 'base out of range');
  meter.steps(text.length);
  return [parseInBase(text, base)];
});

/** As C's strtoul of 64 bits: blanks around it, a sign, and `0x` before a hexadecimal one. */
function parseInBase(text: string, base: number): number | undefined {
  const match =
    /^[ \t\n\v\f\r]*([+-]?)(0[xX](?=[0-9a-fA-F]))?([0-9a-zA-Z]+)[ \t\n\v\f\r]*(?:\0[\s\S]*)?$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, mark, prefix, rest] = match;
  const digits = prefix !== undefined && base !== 16 ? `0x${rest}` : rest!;
  let number = 0n;
  for (const digit of digits) {
    const value = Number.parseInt(digit, BASE_MAX);
    if (value >= base) return undefined;
    if (number <= ULONG_MAX) number = number * BigInt(base) + BigInt(value);
  }
  if (number > ULONG_MAX) return Number(ULONG_MAX);
  return Number(mark === '-' ? BigInt.asUintN(64, -number) : number);
}

const ULONG_MAX = 2n ** 64n - 1n;

/** What the host keeps in memory is no affair of a script's: it would not be alike on all replicas. */
const collectgarbage = native('collectgarbage', (args) => {
  const option = optionalText(args, 1, 'collectgarbage', 'collect');
  const result = COLLECTING.get(option);
  if (result === undefined) return refuse(1, 'collectgarbage', `invalid option '${option}'`);
  return [result];
});

const COLLECTING: ReadonlyMap<string, LuaValue> = new Map<string, LuaValue>([
  ['stop', 0],
  ['restart', 0],
  ['collect', 0],
  ['count', 0],
  ['step', true],
  ['setpause', 200],
  ['setstepmul', 200],
]);

const gcinfo = native('gcinfo', () => [0]);

export const conversions: Library = { type, tostring, tonumber, collectgarbage, gcinfo };
