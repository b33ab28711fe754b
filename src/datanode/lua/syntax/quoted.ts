/** Strings in quotes, and their escapes. */
import { END, isDigit, isLineEnd } from './characters.ts';
import type { LongTextReader } from './long-text.ts';
import { sign, TOKEN } from './tokens.ts';

const BACKSLASH = sign('\\');
const BYTE_MAX = 255;
const ESCAPES: ReadonlyMap<number, string> = new Map([
  [sign('a'), '\x07'],
  [sign('b'), '\b'],
  [sign('f'), '\f'],
  [sign('n'), '\n'],
  [sign('r'), '\r'],
  [sign('t'), '\t'],
  [sign('v'), '\v'],
]);

/** Reads on to the quote that ends it. What has been read is kept, with the first quote, for messages. */
export function readQuoted(reader: LongTextReader): string {
  const quote = reader.byte;
  const parts = [String.fromCharCode(quote)];
  reader.at += 1;
  let start = reader.at;
  for (let c = reader.byte; c !== quote; c = reader.byte) {
    if (c === BACKSLASH) {
      parts.push(reader.source.slice(start, reader.at), readEscape(reader, parts, start));
      start = reader.at;
    } else if (c === END) {
      reader.fail('unfinished string', TOKEN['<eof>']);
    } else if (isLineEnd(c)) {
      reader.read = parts.join('') + reader.source.slice(start, reader.at);
      reader.fail('unfinished string', TOKEN['<string>']);
    } else {
      reader.at += 1;
    }
  }
  parts.push(reader.source.slice(start, reader.at));
  reader.at += 1;
  const text = parts.join('');
  reader.read = text + text[0];
  return text.slice(1);
}

function readEscape(reader: LongTextReader, parts: readonly string[], start: number): string {
  const before = reader.at;
  reader.at += 1;
  const c = reader.byte;
  if (isDigit(c)) {
    const code = readCode(reader);
    if (code <= BYTE_MAX) return String.fromCharCode(code);
    reader.read = parts.join('') + reader.source.slice(start, before);
    return reader.fail('escape sequence too large', TOKEN['<string>']);
  }
  if (c === END) return '';
  if (isLineEnd(c)) {
    reader.skipLineEnd();
    return '\n';
  }
  reader.at += 1;
  return ESCAPES.get(c) ?? String.fromCharCode(c);
}

function readCode(reader: LongTextReader): number {
  let code = 0;
  for (let digits = 0; digits < 3 && isDigit(reader.byte); digits++) {
    code = code * 10 + reader.byte - sign('0');
    reader.at += 1;
  }
  return code;
}
