/** Documents as JSON text: without a space, as they are stored, or laid out as JSON.GET asks for. */
import type { Slices } from '../steps/slices.ts';
import { doubleText } from './json-number.ts';
import {
  Double,
  isContainer,
  type Json,
  type JsonContainer,
  JsonError,
  Strides,
} from './json-value.ts';

/** What stands between the parts of a document (redis.io, JSON.GET). */
export interface JsonLayout {
  /** Before what lies one level deeper. */
  readonly indent: string;
  /** Behind each line. */
  readonly newline: string;
  /** Between a name's colon and its value. */
  readonly space: string;
}

export const COMPACT: JsonLayout = { indent: '', newline: '', space: '' };

/** A container whose parts are being written. */
interface Open {
  readonly parts: Iterator<Json | readonly [string, Json]>;
  readonly end: string;
  isFirst: boolean;
}

/** What a text may have at most: of a document that is stored, or of a reply. */
export interface TextBounds {
  readonly values: number;
  readonly characters: number;
  /** Containers within each other. */
  readonly depth: number;
}

/** Throws JsonError beyond a bound. */
export function* jsonText(value: Json, bounds: TextBounds, layout = COMPACT): Slices<string> {
  const text = new JsonWriter(bounds, layout);
  const strides = new Strides();
  text.begin(value);
  while (text.goOn()) if (strides.isDue) yield* strides.rest();
  return text.whole;
}

class JsonWriter {
  readonly #bounds: TextBounds;
  readonly #layout: JsonLayout;
  readonly #parts: string[] = [];
  readonly #open: Open[] = [];
  #characters = 0;
  #values = 0;

  constructor(bounds: TextBounds, layout: JsonLayout) {
    this.#bounds = bounds;
    this.#layout = layout;
  }

  get whole(): string {
    return this.#parts.join('');
  }

  /** Writes what has no parts; others are opened. */
  begin(value: Json): void {
    const { values, depth } = this.#bounds;
    if (++this.#values > values) throw new JsonError(`there would be more than ${values} values`);
    if (!isContainer(value)) return this.#write(scalarText(value));
    const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
    if (sizeOf(value) === 0) return this.#write(start + end);
    if (this.#open.length === depth) throw new JsonError('recursion limit exceeded');
    this.#write(start);
    this.#open.push({ parts: value[Symbol.iterator](), end, isFirst: true });
  }

  /** One value more, or the end of a container; false: there is nothing left. */
  goOn(): boolean {
    const last = this.#open.at(-1);
    if (last === undefined) return false;
    const step = last.parts.next();
    if (step.done) {
      this.#open.pop();
      this.#write(this.#line() + last.end);
      return true;
    }
    this.#write((last.isFirst ? '' : ',') + this.#line());
    last.isFirst = false;
    this.begin(this.#named(step.value, last));
    return true;
  }

  #named(part: Json | readonly [string, Json], { end }: Open): Json {
    if (end === ']') return part as Json;
    const [name, value] = part as readonly [string, Json];
    this.#write(`${JSON.stringify(name)}:${this.#layout.space}`);
    return value;
  }

  /** Before a part, and before the end of a container. */
  #line(): string {
    const { newline, indent } = this.#layout;
    return newline === '' && indent === '' ? '' : newline + indent.repeat(this.#open.length);
  }

  #write(text: string): void {
    this.#characters += text.length;
    const { characters } = this.#bounds;
    if (this.#characters > characters) {
      throw new JsonError(`the text would have more than ${characters} characters`);
    }
    this.#parts.push(text);
  }
}

function scalarText(value: Exclude<Json, JsonContainer>): string {
  if (value instanceof Double) return doubleText(value.value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

export function sizeOf(value: JsonContainer): number {
  return Array.isArray(value) ? value.length : value.size;
}
