/** `[[…]]` and `[==[…]==]`, as strings and as comments. */
import { END, isLineEnd, LINE_FEED } from './characters.ts';
import { sign, TOKEN, type Token } from './tokens.ts';

export interface LongTextReader {
  readonly source: string;
  at: number;
  readonly byte: number;
  read: string;
  skipLineEnd(): void;
  fail(message: string, token?: Token): never;
}

const EQUALS = sign('=');
const CLOSING = sign(']');

/** How many `=` are between two brackets that begin here; −1 − n: n are there, and no second bracket. */
export function separatorLength(reader: LongTextReader): number {
  const { source, at } = reader;
  const bracket = source.charCodeAt(at);
  let end = at + 1;
  while (source.charCodeAt(end) === EQUALS) end += 1;
  const count = end - at - 1;
  return source.charCodeAt(end) === bracket ? count : -count - 1;
}

/** Reads on to the closing bracket of the same level. */
export function readLongText(
  reader: LongTextReader,
  level: number,
  kind: 'string' | 'comment',
): string {
  reader.at += level + 2;
  if (isLineEnd(reader.byte)) reader.skipLineEnd();
  const parts: string[] = [];
  let start = reader.at;
  for (;;) {
    const c = reader.byte;
    if (c === END) reader.fail(`unfinished long ${kind}`, TOKEN['<eof>']);
    if (c === CLOSING && separatorLength(reader) === level) break;
    if (isLineEnd(c)) {
      parts.push(reader.source.slice(start, reader.at), String.fromCharCode(LINE_FEED));
      reader.skipLineEnd();
      start = reader.at;
    } else {
      reader.at += 1;
    }
  }
  parts.push(reader.source.slice(start, reader.at));
  reader.at += level + 2;
  const text = parts.join('');
  const bars = '='.repeat(level);
  if (kind === 'string') reader.read = `[${bars}[${text}]${bars}]`;
  return text;
}
