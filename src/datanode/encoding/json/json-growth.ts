/**
 * What a write adds to a document, counted while it is added: a value of some bytes that goes to a hundred
 * thousand places would take the memory of all nodes before the document were found too large.
 */
import { limits } from '../../../common/limits.ts';
import type { Slices } from '../steps/slices.ts';
import { type Json, JsonError, Strides } from './json-value.ts';

export interface JsonSize {
  /** The value itself, and all in it. */
  readonly values: number;
  /** Of its strings and names. */
  readonly characters: number;
}

/** Of all of them together. */
export function* sizeOfJson(all: readonly Json[]): Slices<JsonSize> {
  const strides = new Strides();
  const waiting: Json[] = [...all];
  let [values, characters] = [0, 0];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (strides.isDue) yield* strides.rest();
    values++;
    if (typeof value === 'string') characters += value.length;
    else if (Array.isArray(value)) for (const inner of value) waiting.push(inner);
    else if (value instanceof Map) {
      for (const [name, inner] of value) {
        characters += name.length;
        waiting.push(inner);
      }
    }
  }
  return { values, characters };
}

export class JsonGrowth {
  readonly #size: JsonSize;
  #times = 0;

  /** `size`: of what is added each time. */
  constructor(size: JsonSize) {
    this.#size = size;
  }

  static *of(all: readonly Json[]): Slices<JsonGrowth> {
    return new JsonGrowth(yield* sizeOfJson(all));
  }

  /** Once more. Throws JsonError when no document has room for so much. */
  add(): void {
    this.#times++;
    const { values, characters } = this.#size;
    if (values * this.#times > limits.jsonValuesMax) {
      throw new JsonError(`there would be more than ${limits.jsonValuesMax} values`);
    }
    if (characters * this.#times > limits.valueBytesMax) {
      throw new JsonError(`the document would have more than ${limits.valueBytesMax} bytes`);
    }
  }
}
