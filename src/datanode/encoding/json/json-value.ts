/**
 * What a JSON document is made of while a command works on it. Objects are Maps: they keep the order in
 * which names came, whatever these look like, and no name is special. Whole numbers stay apart from others, as `1`
 * and `1.0` do in RedisJSON: a number here is a whole one that a double tells apart, a bigint any other of
 * 64 bits, and what has a fraction or an exponent is a `Double`.
 */
import type { Slices } from '../steps/slices.ts';
import { GLANCE, giveWay } from '../steps/slices.ts';

export type Json = null | boolean | string | number | bigint | Double | JsonArray | JsonObject;
export type JsonArray = Json[];
export type JsonObject = Map<string, Json>;
export type JsonContainer = JsonArray | JsonObject;

/** A number with a fraction or an exponent; never infinite. */
export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** As JSON.TYPE names it (redis.io, JSON.TYPE). */
export type JsonType = 'null' | 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object';

/** Thrown for what is no document, or none that is kept here. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/** Arrays and objects within each other that are not empty. */
export const DEPTH_MAX = 127;

export function jsonTypeOf(value: Json): JsonType {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number' || typeof value === 'bigint') return 'integer';
  if (value instanceof Double) return 'number';
  return Array.isArray(value) ? 'array' : 'object';
}

export function isContainer(value: Json): value is JsonContainer {
  return Array.isArray(value) || value instanceof Map;
}

/** Of any number, whole or not; undefined: it is none. */
export function numberOf(value: Json): number | bigint | undefined {
  if (value instanceof Double) return value.value;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** Told how much was looked at, in values; may throw when that is too much. */
export type Spend = (values: number) => void;

/** Of a string, what counts as a value. */
const STRING_PIECE = 1_024;

/** What it takes to compare two strings that begin alike, in values. */
export function comparisonOf(a: string, b: string): number {
  return Math.ceil(Math.min(a.length, b.length) / STRING_PIECE);
}

/** The same value: objects whatever the order of their names, numbers by what they come to. */
export function isSameJson(a: Json, b: Json, spend: Spend = () => {}): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false;
    spend(comparisonOf(a, b));
    return a === b;
  }
  spend(1);
  const [x, y] = [numberOf(a), numberOf(b)];
  // a bigint and a number may be the same number
  if (x !== undefined && y !== undefined) return x <= y && x >= y;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => isSameJson(item, b[at]!, spend));
  }
  if (!(a instanceof Map)) return a === b;
  if (!(b instanceof Map) || a.size !== b.size) return false;
  for (const [name, value] of a) {
    const other = b.get(name);
    if (other === undefined || !isSameJson(value, other, spend)) return false;
  }
  return true;
}

/** Another document of the same: what is in one may change without the other. */
export function copyOfJson(value: Json): Json {
  if (Array.isArray(value)) return value.map(copyOfJson);
  if (!(value instanceof Map)) return value;
  return new Map(Array.from(value, ([name, inner]) => [name, copyOfJson(inner)]));
}

/** Values that are worked on between two looks at the clock: each takes some 0.1 µs. */
const GLANCE_VALUES = 512;
/** And before others may have their turn. */
const STEP_VALUES = 8_192;

/** Counts values that are walked over, and says when to give way. */
export class Strides {
  #done = 0;
  #glanced = 0;
  #rested = 0;

  get isDue(): boolean {
    return ++this.#done - this.#glanced >= GLANCE_VALUES;
  }

  /** So many more. */
  add(values: number): void {
    this.#done += values;
  }

  /** To be gone through where `isDue`. */
  *rest(): Slices<void> {
    this.#glanced = this.#done;
    if (this.#done - this.#rested < STEP_VALUES) {
      yield GLANCE;
      return;
    }
    this.#rested = this.#done;
    yield* giveWay();
  }
}
