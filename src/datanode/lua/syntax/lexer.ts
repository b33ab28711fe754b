/** From text to tokens, with one token of lookahead; positions are lines. */
import { parseNumber } from '../values/numbers.ts';
import { END, isDigit, isLetter, isLineEnd, isSpace } from './characters.ts';
import { readLongText, separatorLength } from './long-text.ts';
import { readQuoted } from './quoted.ts';
import { chunkName, LuaSyntaxError } from './syntax-error.ts';
import { sign, TOKEN, type Token, tokenText, wordToken } from './tokens.ts';

interface Lexed {
  token: Token;
  /** Of a name or a string. */
  text: string;
  /** Of a number. */
  number: number;
}

const DASH = sign('-');
const BRACKET = sign('[');
const EQUALS = sign('=');
const DOT = sign('.');
const PAIRED: ReadonlyMap<number, Token> = new Map([
  [EQUALS, TOKEN['==']],
  [sign('<'), TOKEN['<=']],
  [sign('>'), TOKEN['>=']],
  [sign('~'), TOKEN['~=']],
]);
const QUOTES: readonly number[] = [sign('"'), sign("'")];

export class Lexer {
  readonly source: string;
  /** Where it is read next. */
  at = 0;
  line = 1;
  /** Of the token before the current one. */
  lastLine = 1;
  /** What has been read of the current token: messages show it. */
  read = '';
  readonly current: Lexed = { token: TOKEN['<eof>'], text: '', number: 0 };
  private readonly ahead: Lexed = { token: TOKEN['<eof>'], text: '', number: 0 };
  private hasAhead = false;
  /** The chunk's name as messages show it. */
  readonly name: string;

  constructor(source: string, chunk: string) {
    this.source = source;
    this.name = chunkName(chunk);
  }

  get token(): Token {
    return this.current.token;
  }

  /** On to the next token. */
  next(): void {
    this.lastLine = this.line;
    if (!this.hasAhead) return this.lexInto(this.current);
    Object.assign(this.current, this.ahead);
    this.hasAhead = false;
  }

  /** The token behind the current one. */
  peek(): Token {
    this.lexInto(this.ahead);
    this.hasAhead = true;
    return this.ahead.token;
  }

  /** The current byte of the text; END behind its last. */
  get byte(): number {
    return this.at < this.source.length ? this.source.charCodeAt(this.at) : END;
  }

  /** Throws what is wrong near a token; without one, which a zero byte is in C, just what is wrong. */
  fail(message: string, token?: Token): never {
    const near = token === undefined || token === 0 ? '' : ` near '${this.nearText(token)}'`;
    throw new LuaSyntaxError(`${this.name}:${this.line}: ${message}${near}`);
  }

  failHere(message: string): never {
    return this.fail(message, this.token);
  }

  /** Over a line's end, which may be two characters. */
  skipLineEnd(): void {
    const first = this.byte;
    this.at += 1;
    if (isLineEnd(this.byte) && this.byte !== first) this.at += 1;
    this.line += 1;
  }

  private nearText(token: Token): string {
    const isShown =
      token === TOKEN['<name>'] || token === TOKEN['<string>'] || token === TOKEN['<number>'];
    const text = isShown ? this.read : tokenText(token);
    const end = text.indexOf('\0');
    return end < 0 ? text : text.slice(0, end);
  }

  private lexInto(lexed: Lexed): void {
    this.skipBlank();
    const c = this.byte;
    if (isLetter(c)) return this.lexWord(lexed);
    if (isDigit(c) || (c === DOT && isDigit(this.source.charCodeAt(this.at + 1)))) {
      return this.lexNumber(lexed);
    }
    if (QUOTES.includes(c)) {
      lexed.text = readQuoted(this);
      lexed.token = TOKEN['<string>'];
      return;
    }
    if (c === BRACKET && this.lexLongString(lexed)) return;
    lexed.token = c === END ? TOKEN['<eof>'] : this.lexSign(c);
  }

  private skipBlank(): void {
    for (;;) {
      const c = this.byte;
      if (isLineEnd(c)) this.skipLineEnd();
      else if (isSpace(c)) this.at += 1;
      else if (c === DASH && this.source.charCodeAt(this.at + 1) === DASH) this.skipComment();
      else return;
    }
  }

  private skipComment(): void {
    this.at += 2;
    const level = this.byte === BRACKET ? separatorLength(this) : -1;
    if (level >= 0) {
      readLongText(this, level, 'comment');
      return;
    }
    while (this.byte !== END && !isLineEnd(this.byte)) this.at += 1;
  }

  private lexWord(lexed: Lexed): void {
    const start = this.at;
    while (isLetter(this.byte) || isDigit(this.byte)) this.at += 1;
    this.read = this.source.slice(start, this.at);
    lexed.text = this.read;
    lexed.token = wordToken(this.read);
  }

  private lexNumber(lexed: Lexed): void {
    const start = this.at;
    while (isDigit(this.byte) || this.byte === DOT) this.at += 1;
    if (this.byte === sign('e') || this.byte === sign('E')) {
      this.at += 1;
      if (this.byte === sign('+') || this.byte === DASH) this.at += 1;
    }
    while (isLetter(this.byte) || isDigit(this.byte)) this.at += 1;
    this.read = this.source.slice(start, this.at);
    const number = parseNumber(this.read);
    if (number === undefined) return this.fail('malformed number', TOKEN['<number>']);
    lexed.number = number;
    lexed.token = TOKEN['<number>'];
  }

  private lexLongString(lexed: Lexed): boolean {
    const level = separatorLength(this);
    if (level === -1) return false;
    if (level < 0) {
      this.read = this.source.slice(this.at, this.at - level);
      this.fail('invalid long string delimiter', TOKEN['<string>']);
    }
    lexed.text = readLongText(this, level, 'string');
    lexed.token = TOKEN['<string>'];
    return true;
  }

  private lexSign(c: number): Token {
    this.at += 1;
    if (c === DOT && this.byte === DOT) {
      this.at += 1;
      if (this.byte !== DOT) return TOKEN['..'];
      this.at += 1;
      return TOKEN['...'];
    }
    const paired = PAIRED.get(c);
    if (paired === undefined || this.byte !== EQUALS) return c;
    this.at += 1;
    return paired;
  }
}
