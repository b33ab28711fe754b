/**
 * Filters of JSON paths: `?(@.price < 10 && (@.color == "red" || !@.sold))`. A path alone asks whether there is
 * such a value. Values of different types are neither equal nor ordered. Regular expressions (`=~`) are
 * refused: what one takes cannot be bounded.
 */
import { jsonNumber } from './json-number.ts';
import type { PathReader } from './json-path-reader.ts';
import type { Comparison, Filter, Operand, PathOperand, PathStep } from './json-steps.ts';
import { comparisonOf, isSameJson, type Json, numberOf, type Spend } from './json-value.ts';

const comparisons: readonly Comparison[] = ['==', '!=', '<=', '>=', '<', '>'];
const DEPTH_MAX = 32;
const words: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** The steps of a path that comes next. */
type ReadSteps = (reader: PathReader) => readonly PathStep[];

/** Behind the `?`; `steps` reads what comes behind an `@` or a `$`. */
export function parseFilter(reader: PathReader, steps: ReadSteps): Filter {
  reader.space();
  return anyOf(reader, steps, 0);
}

function anyOf(reader: PathReader, steps: ReadSteps, depth: number): Filter {
  const of = [everyOf(reader, steps, depth)];
  while (reader.take('||')) of.push(everyOf(reader, steps, depth));
  return of.length === 1 ? of[0]! : { kind: 'any', of };
}

function everyOf(reader: PathReader, steps: ReadSteps, depth: number): Filter {
  const of = [one(reader, steps, depth)];
  while (reader.take('&&')) of.push(one(reader, steps, depth));
  return of.length === 1 ? of[0]! : { kind: 'every', of };
}

function one(reader: PathReader, steps: ReadSteps, depth: number): Filter {
  if (depth > DEPTH_MAX) throw reader.wrong('a filter within too many others');
  reader.space();
  let filter: Filter;
  if (reader.take('(')) {
    filter = anyOf(reader, steps, depth + 1);
    reader.space();
    if (!reader.take(')')) throw reader.expected('`)`');
  } else if (reader.take('!')) {
    filter = { kind: 'not', of: one(reader, steps, depth + 1) };
  } else {
    filter = comparedOf(reader, steps);
  }
  reader.space();
  return filter;
}

function comparedOf(reader: PathReader, steps: ReadSteps): Filter {
  const a = operandOf(reader, steps);
  reader.space();
  if (reader.take('=~')) throw reader.wrong('regular expressions are not supported');
  const by = comparisons.find((sign) => reader.take(sign));
  if (by !== undefined) {
    reader.space();
    return { kind: 'compare', a, by, b: operandOf(reader, steps) };
  }
  if ('literal' in a) throw reader.expected('a comparison');
  return { kind: 'exists', operand: a };
}

function operandOf(reader: PathReader, steps: ReadSteps): Operand {
  if (reader.take('@')) return { from: 'value', steps: steps(reader) };
  if (reader.take('$')) return { from: 'root', steps: steps(reader) };
  if (reader.isQuote) return { literal: reader.quoted() };
  for (const [word, literal] of words) if (reader.take(word)) return { literal };
  const digits = reader.number();
  const literal = digits === '' ? undefined : jsonNumber(digits);
  if (literal === undefined) throw reader.expected('`@`, `$` or a value');
  return { literal };
}

/** What a filter asks while it looks at a value. */
export interface FilterSight {
  /** The first value that a path of the filter names. */
  find(operand: PathOperand): Json | undefined;
  /** What comparing takes, in values. */
  readonly spend: Spend;
}

export function passes(filter: Filter, sight: FilterSight): boolean {
  switch (filter.kind) {
    case 'any':
      return filter.of.some((inner) => passes(inner, sight));
    case 'every':
      return filter.of.every((inner) => passes(inner, sight));
    case 'not':
      return !passes(filter.of, sight);
    case 'exists':
      return sight.find(filter.operand) !== undefined;
    case 'compare': {
      const { a, by, b } = filter;
      return compares(operandValue(a, sight), by, operandValue(b, sight), sight.spend);
    }
  }
}

function operandValue(operand: Operand, sight: FilterSight): Json | undefined {
  return 'literal' in operand ? operand.literal : sight.find(operand);
}

function compares(a: Json | undefined, by: Comparison, b: Json | undefined, spend: Spend): boolean {
  if (by === '==' || by === '!=') {
    const isSame = a !== undefined && b !== undefined && isSameJson(a, b, spend);
    return isSame === (by === '==');
  }
  const order = orderOf(a, b, spend);
  if (order === undefined) return false;
  if (order === 0) return by === '<=' || by === '>=';
  return order < 0 === by.startsWith('<');
}

/** Below 0: `a` comes first. Undefined: they have no order. */
function orderOf(a: Json | undefined, b: Json | undefined, spend: Spend): number | undefined {
  spend(1);
  if (a === undefined || b === undefined) return undefined;
  if (typeof a === 'string' && typeof b === 'string') {
    spend(comparisonOf(a, b));
    return stringOrder(a, b);
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === undefined || y === undefined) return undefined;
  return x < y ? -1 : x > y ? 1 : 0;
}

/** What surrogates and what is above them in UTF-16, but not in UTF-8, begin with. */
const BEYOND = /[\ud800-\uffff]/;

/** As their UTF-8 has it. */
function stringOrder(a: string, b: string): number {
  if (a === b) return 0;
  // to encode both each time takes ten times as long
  if (!BEYOND.test(a) && !BEYOND.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
