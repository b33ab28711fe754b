/** What JSON consists of, as lua-cjson reads it: more numbers than JSON has, and any bytes in strings. */
import { parseNumber } from '../values/numbers.ts';

export type TokenKind =
  | 'T_OBJ_BEGIN'
  | 'T_OBJ_END'
  | 'T_ARR_BEGIN'
  | 'T_ARR_END'
  | 'T_STRING'
  | 'T_NUMBER'
  | 'T_BOOLEAN'
  | 'T_NULL'
  | 'T_COLON'
  | 'T_COMMA'
  | 'T_END'
  | 'T_ERROR';

const single: Readonly<Record<string, TokenKind>> = {
  '{': 'T_OBJ_BEGIN',
  '}': 'T_OBJ_END',
  '[': 'T_ARR_BEGIN',
  ']': 'T_ARR_END',
  ':': 'T_COLON',
  ',': 'T_COMMA',
};

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
};

const SPACE = /[ \t\n\r]*/y;
/** As far as strtod reads. */
const NUMBER =
  /[+-]?(?:0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan(?:\(\w*\))?)/iy;
/** Numbers that are none in JSON. */
const INVALID = /\+|-?(?:0[x0-9]|inf|nan)/iy;
const STARTS_NUMBER = /[-0-9]/;
const ORDINARY = /[^"\\\0]*/y;
const HEX4 = /[0-9a-f]{4}/iy;

export class JsonTokens {
  kind: TokenKind = 'T_END';
  /** Of a string, a number, a boolean; of an error what it is. */
  value: string | number | boolean = '';
  /** Where it begins, counted from 0. */
  index = 0;
  readonly #data: string;
  readonly #takesInvalid: boolean;
  #at = 0;

  constructor(data: string, takesInvalid: boolean) {
    this.#data = data;
    this.#takesInvalid = takesInvalid;
  }

  next(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#data);
    this.#at = SPACE.lastIndex;
    this.index = this.#at;
    const first = this.#data[this.#at] ?? '\0';
    const kind = single[first];
    if (kind !== undefined) {
      this.#take(kind, '', 1);
    } else if (first === '\0') {
      this.kind = 'T_END';
    } else if (first === '"') {
      this.#string();
    } else this.#word(first);
  }

  #take(kind: TokenKind, value: string | number | boolean, length: number): void {
    this.kind = kind;
    this.value = value;
    this.#at += length;
  }

  #fail(what: string): void {
    this.kind = 'T_ERROR';
    this.value = what;
    this.index = this.#at;
  }

  #word(first: string): void {
    const isInvalid = 'iInN+-0123456789'.includes(first) && this.#matches(INVALID);
    if (STARTS_NUMBER.test(first)) {
      if (isInvalid && !this.#takesInvalid) return this.#fail('invalid number');
      return this.#number();
    }
    if (this.#data.startsWith('true', this.#at)) return this.#take('T_BOOLEAN', true, 4);
    if (this.#data.startsWith('false', this.#at)) return this.#take('T_BOOLEAN', false, 5);
    if (this.#data.startsWith('null', this.#at)) return this.#take('T_NULL', '', 4);
    if (isInvalid && this.#takesInvalid) return this.#number();
    return this.#fail('invalid token');
  }

  #matches(expression: RegExp): boolean {
    expression.lastIndex = this.#at;
    return expression.test(this.#data);
  }

  #number(): void {
    NUMBER.lastIndex = this.#at;
    const text = NUMBER.exec(this.#data)?.[0];
    const value = text === undefined ? undefined : parseNumber(text);
    if (text === undefined || value === undefined) return this.#fail('invalid number');
    this.#take('T_NUMBER', value, text.length);
  }

  #string(): void {
    this.#at++;
    let made = '';
    for (;;) {
      ORDINARY.lastIndex = this.#at;
      const piece = ORDINARY.exec(this.#data)![0];
      this.#at += piece.length;
      made = made === '' ? piece : made + piece;
      const stop = this.#data[this.#at];
      if (stop === '"') return this.#take('T_STRING', made, 1);
      if (stop !== '\\') return this.#fail('unexpected end of string');
      const escaped = this.#escape();
      if (escaped === undefined) return;
      made += escaped;
    }
  }

  /** What stands for it; undefined: an error. */
  #escape(): string | undefined {
    const letter = this.#data[this.#at + 1] ?? '';
    if (letter === 'u') return this.#unicode();
    const plain = escapes[letter];
    if (plain === undefined) {
      this.#fail('invalid escape code');
      return undefined;
    }
    this.#at += 2;
    return plain;
  }

  /** In UTF-8; a second half of a pair has to follow a first one. */
  #unicode(): string | undefined {
    const first = this.#hex(this.#at + 2);
    if (first !== undefined && (first & 0xf800) !== 0xd800) {
      this.#at += 6;
      return utf8(first);
    }
    const isPair =
      first !== undefined && first < 0xdc00 && this.#data.startsWith('\\u', this.#at + 6);
    const second = isPair ? this.#hex(this.#at + 8) : undefined;
    if (second === undefined || (second & 0xfc00) !== 0xdc00) {
      this.#fail('invalid unicode escape code');
      return undefined;
    }
    this.#at += 12;
    return utf8(0x10000 + ((first! & 0x3ff) << 10) + (second & 0x3ff));
  }

  #hex(at: number): number | undefined {
    HEX4.lastIndex = at;
    return HEX4.test(this.#data) ? Number.parseInt(this.#data.slice(at, at + 4), 16) : undefined;
  }
}

function utf8(code: number): string {
  if (code < 0x80) return String.fromCharCode(code);
  return Buffer.from(String.fromCodePoint(code), 'utf8').toString('latin1');
}
