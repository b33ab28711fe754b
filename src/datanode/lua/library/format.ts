/** `string.format`: what C's printf makes of each directive. */

import { exponentDecimal, exponentText, fixedDecimal, generalDecimal } from '../values/decimal.ts';
import { LuaError } from '../values/error.ts';
import type { Meter } from '../values/function.ts';
import { unusualText } from '../values/numbers.ts';
import type { LuaValue } from '../values/value.ts';
import { type Args, checkInt, checkNumber, checkText, refuse } from './arguments.ts';
import { toInteger, toUnsigned } from './integers.ts';
import { Pieces } from './pieces.ts';

interface Directive {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly letter: string;
  /** Behind it. */
  readonly end: number;
}

/** From this length on a string is taken as it is, unless a precision cuts it. */
const UNFORMATTED = 100;

const DIRECTIVE_STEPS = 8;

export function format(args: Args, meter: Meter): readonly LuaValue[] {
  const template = checkText(args, 1, 'format', meter);
  meter.steps(template.length);
  const pieces = new Pieces(meter);
  let argument = 1;
  let at = 0;
  for (;;) {
    const percent = template.indexOf('%', at);
    pieces.add(template.slice(at, percent < 0 ? undefined : percent));
    if (percent < 0) return [pieces.text()];
    at = percent + 1;
    if (template[at] === '%') {
      pieces.add('%');
      at++;
      continue;
    }
    if (++argument > args.length) refuse(argument, 'format', 'no value');
    const directive = readDirective(template, at);
    meter.steps(DIRECTIVE_STEPS + (directive.precision ?? 0));
    pieces.add(formatted(directive, args, argument, meter));
    at = directive.end;
  }
}

function readDirective(template: string, start: number): Directive {
  let at = start;
  while (at < template.length && '-+ #0'.includes(template[at]!)) at++;
  const flags = template.slice(start, at);
  if (flags.length > 5) throw new LuaError('invalid format (repeated flags)');
  const width = readDigits(template, at);
  at += width.length;
  let precision: string | undefined;
  if (template[at] === '.') {
    precision = readDigits(template, at + 1);
    at += 1 + precision.length;
  }
  if (/\d/.test(template[at] ?? '')) {
    throw new LuaError('invalid format (width or precision too long)');
  }
  return {
    flags,
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    letter: template[at] ?? '',
    end: at + 1,
  };
}

/** Two at the most. */
function readDigits(template: string, at: number): string {
  return /^\d{0,2}/.exec(template.slice(at, at + 2))![0];
}

function formatted(directive: Directive, args: Args, argument: number, meter: Meter): string {
  switch (directive.letter) {
    case 'c':
      return character(directive, checkInt(args, argument, 'format', meter));
    case 'd':
    case 'i':
      return integer(directive, checkNumber(args, argument, 'format', meter));
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return unsigned(directive, checkNumber(args, argument, 'format', meter));
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G':
      return decimal(directive, checkNumber(args, argument, 'format', meter));
    case 'q':
      return quoted(checkText(args, argument, 'format', meter), meter);
    case 's':
      return text(directive, checkText(args, argument, 'format', meter));
    default: {
      const letter = directive.letter === '\0' ? '' : directive.letter;
      throw new LuaError(`invalid option '%${letter}' to 'format'`);
    }
  }
}

/** Nothing behind a zero byte is taken over from what printf has made. */
function character(directive: Directive, code: number): string {
  const made = padded(directive, '', String.fromCharCode(code & 0xff));
  const zero = made.indexOf('\0');
  return zero < 0 ? made : made.slice(0, zero);
}

function text({ width, precision, flags }: Directive, whole: string): string {
  if (precision === undefined && whole.length >= UNFORMATTED) return whole;
  // first what is short, since to look through the whole is not charged
  const short = whole.slice(0, precision);
  const zero = short.indexOf('\0');
  const cut = zero < 0 ? short : short.slice(0, zero);
  return flags.includes('-') ? cut.padEnd(width) : cut.padStart(width);
}

function quoted(whole: string, meter: Meter): string {
  meter.steps(whole.length);
  meter.bytes(whole.length);
  const inner = whole.replace(/["\\\n\r\0]/g, (code) => {
    if (code === '\r') return '\\r';
    return code === '\0' ? '\\000' : `\\${code}`;
  });
  return `"${inner}"`;
}

function integer(directive: Directive, n: number): string {
  const whole = toInteger(n);
  const digits = Math.abs(whole) < 2 ** 53 ? String(Math.abs(whole)) : digitsOf(whole);
  return paddedInteger(directive, signOf(directive, whole < 0), digits);
}

function digitsOf(whole: number): string {
  const exact = BigInt(whole);
  return (exact < 0n ? -exact : exact).toString();
}

function unsigned(directive: Directive, n: number): string {
  const bits = toUnsigned(n);
  const isFull = directive.flags.includes('#');
  switch (directive.letter) {
    case 'o': {
      const digits = bits.toString(8);
      const isShort = digits.length >= (directive.precision ?? 0);
      const shown = isFull && isShort && bits !== 0n ? `0${digits}` : digits;
      if (isFull && bits === 0n && directive.precision === 0) return padded(directive, '', '0');
      return paddedInteger(directive, '', shown);
    }
    case 'u':
      return paddedInteger(directive, '', bits.toString());
    default: {
      const prefix = isFull && bits !== 0n ? '0x' : '';
      const made = paddedInteger(directive, prefix, bits.toString(16));
      return directive.letter === 'X' ? made.toUpperCase() : made;
    }
  }
}

/** With a precision, zeros fill up to it, and not up to the width; a zero with none of it is empty. */
function paddedInteger(directive: Directive, sign: string, digits: string): string {
  const { precision, flags } = directive;
  if (precision === undefined) return padded(directive, sign, digits, flags.includes('0'));
  const filled = digits === '0' && precision === 0 ? '' : digits.padStart(precision, '0');
  return padded(directive, sign, filled);
}

function decimal(directive: Directive, n: number): string {
  const isNegative = n < 0 || Object.is(n, -0);
  const isUpper = directive.letter !== directive.letter.toLowerCase();
  const hasDigits = Number.isFinite(n);
  const digits = hasDigits ? digitsOfDecimal(directive, Math.abs(n)) : unusualDigits(n);
  const sign = signOf(directive, isNegative || Number.isNaN(n));
  const made = padded(directive, sign, digits, hasDigits && directive.flags.includes('0'));
  return isUpper ? made.toUpperCase() : made;
}

function unusualDigits(n: number): string {
  return unusualText(n).replace('-', '');
}

function digitsOfDecimal({ letter, precision = 6, flags }: Directive, size: number): string {
  const isFull = flags.includes('#');
  switch (letter.toLowerCase()) {
    case 'f': {
      const digits = fixedDecimal(size, precision);
      return isFull && precision === 0 ? `${digits}.` : digits;
    }
    case 'e': {
      const [digits, exponent] = exponentDecimal(size, precision);
      return (isFull && precision === 0 ? `${digits}.` : digits) + exponentText(exponent);
    }
    default:
      return generalDecimal(size, precision, isFull);
  }
}

function signOf({ flags }: Directive, isNegative: boolean): string {
  if (isNegative) return '-';
  if (flags.includes('+')) return '+';
  return flags.includes(' ') ? ' ' : '';
}

function padded({ flags, width }: Directive, sign: string, digits: string, zeros = false): string {
  if (flags.includes('-')) return (sign + digits).padEnd(width);
  if (zeros) return sign + digits.padStart(width - sign.length, '0');
  return (sign + digits).padStart(width);
}
