/** Formats of `struct`: one letter after the other, with sizes and alignment. */
import { LuaError } from '../values/error.ts';
import { refuse } from './arguments.ts';

const INTEGER_BYTES_MAX = 32;
const INT_MAX = 2 ** 31 - 1;
/** Of C's own types on the processors that Redis runs on. */
const SIZES: Readonly<Record<string, number>> = {
  b: 1,
  B: 1,
  h: 2,
  H: 2,
  l: 8,
  L: 8,
  T: 8,
  f: 4,
  d: 8,
  x: 1,
};

export const INTEGERS = 'bBhHlLTiI';

export interface StructItem {
  readonly letter: string;
  readonly size: number;
  /** Bytes before it, so that it is aligned. */
  readonly padding: number;
}

/** Reads a format item by item, as values are packed or unpacked; a format ends with a zero byte. */
export class StructFormat {
  isLittle = true;
  readonly #format: string;
  readonly #name: string;
  #at = 0;
  #alignment = 1;

  constructor(format: string, name: string) {
    const zero = format.indexOf('\0');
    this.#format = zero < 0 ? format : format.slice(0, zero);
    this.#name = name;
  }

  get length(): number {
    return this.#format.length;
  }

  /** `position`: how many bytes there are before it. Undefined: the format is through. */
  next(position: number): StructItem | undefined {
    const letter = this.#format[this.#at++];
    if (letter === undefined) return undefined;
    const size = this.#size(letter);
    return { letter, size, padding: this.#padding(position, letter, size) };
  }

  /** What is no value: it says how the next ones are packed. */
  control(letter: string): void {
    switch (letter) {
      case ' ':
        return;
      case '>':
        this.isLittle = false;
        return;
      case '<':
        this.isLittle = true;
        return;
      case '!':
        this.#alignment = this.#readAlignment();
        return;
      default:
        refuse(1, this.#name, `invalid format option '${letter}'`);
    }
  }

  #readAlignment(): number {
    const alignment = this.#number(8);
    if (alignment > 0 && (alignment & (alignment - 1)) === 0) return alignment;
    throw new LuaError(`alignment ${alignment} is not a power of 2`);
  }

  #size(letter: string): number {
    if (letter === 'c') return this.#number(1);
    if (letter !== 'i' && letter !== 'I') return SIZES[letter] ?? 0;
    const size = this.#number(4);
    if (size <= INTEGER_BYTES_MAX) return size;
    const limit = `limit of ${INTEGER_BYTES_MAX}`;
    throw new LuaError(`integral size ${size} is larger than ${limit}`);
  }

  #padding(position: number, letter: string, size: number): number {
    if (size === 0 || letter === 'c') return 0;
    const unit = Math.min(size, this.#alignment);
    return (unit - (position & (unit - 1))) & (unit - 1);
  }

  #number(otherwise: number): number {
    const start = this.#at;
    let n = 0;
    for (;;) {
      const digit = this.#format.charCodeAt(this.#at) - 48;
      if (!(digit >= 0 && digit <= 9)) return this.#at === start ? otherwise : n;
      n = n * 10 + digit;
      if (n > INT_MAX) throw new LuaError('integral size overflow');
      this.#at++;
    }
  }
}
