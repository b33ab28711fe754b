/** The characters of a JSON path, one after the other. */
import { JsonError } from './json-value.ts';

/** What ends a name that is not in quotes. */
const NAME = /[^.[\]()<>=!&|,"'\s]*/y;
const INTEGER = /-?[0-9]{1,15}/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /\s*/y;

export class PathReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isOver(): boolean {
    return this.#at === this.#text.length;
  }

  get isQuote(): boolean {
    const next = this.#text.charAt(this.#at);
    return next === '"' || next === "'";
  }

  /** Passes `token` if it comes next. */
  take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  space(): void {
    this.#match(SPACE);
  }

  /** Without quotes; empty: none comes. */
  name(): string {
    return this.#match(NAME);
  }

  integer(): number | undefined {
    const digits = this.#match(INTEGER);
    return digits === '' ? undefined : Number(digits);
  }

  /** The text of a JSON number; empty: none comes. */
  number(): string {
    return this.#match(NUMBER);
  }

  /** In quotes of either kind; a backslash takes the next character as it is. */
  quoted(): string {
    const quote = this.#text.charAt(this.#at);
    if (!this.isQuote) throw this.expected('a quote');
    this.#at++;
    let read = '';
    for (;;) {
      const character = this.#text.charAt(this.#at++);
      if (character === quote) return read;
      if (character === '') throw this.wrong('a quote is not closed');
      read += character === '\\' ? this.#text.charAt(this.#at++) : character;
    }
  }

  expected(what: string): JsonError {
    return this.wrong(`expected ${what}`);
  }

  wrong(what: string): JsonError {
    const rest = this.#text.slice(this.#at, this.#at + 16);
    const where = rest === '' ? 'at the end' : `before '${rest}'`;
    return new JsonError(`wrong path: ${what} ${where}`);
  }

  #match(form: RegExp): string {
    form.lastIndex = this.#at;
    const found = form.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}
