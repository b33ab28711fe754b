/** Inline commands (a line without RESP framing), split by Redis's quoting rules (sdssplitargs). */

/** Before a word, and after a quoted one. */
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x00]);
/** What ends a word: as in Redis, fewer than what may stand before one. */
const WORD_END = new Set([0x20, 0x09, 0x0a, 0x0d, 0x00]);
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const ESCAPES: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, b: 8, a: 7 };

/** The words of a line, or undefined for unbalanced quotes (also when text follows a quote). */
export function splitInline(line: Buffer): Buffer[] | undefined {
  const words: Buffer[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && SPACE.has(line[at]!)) at++;
    if (at >= line.length) return words;
    const bytes: number[] = [];
    const end = readWord(line, at, bytes);
    if (end === undefined) return undefined;
    words.push(Buffer.from(bytes));
    at = end;
  }
}

function readWord(line: Buffer, start: number, bytes: number[]): number | undefined {
  let at = start;
  while (at < line.length && !WORD_END.has(line[at]!)) {
    const byte = line[at]!;
    if (byte !== QUOTE && byte !== APOSTROPHE) {
      bytes.push(byte);
      at++;
      continue;
    }
    const end = byte === QUOTE ? readDouble(line, at + 1, bytes) : readSingle(line, at + 1, bytes);
    if (end === undefined || (end < line.length && !SPACE.has(line[end]!))) return undefined;
    return end;
  }
  return at;
}

function readDouble(line: Buffer, start: number, bytes: number[]): number | undefined {
  let at = start;
  while (at < line.length) {
    const byte = line[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte !== BACKSLASH || at + 1 >= line.length) {
      bytes.push(byte);
      at++;
      continue;
    }
    const hex = line.toString('latin1', at + 1, at + 4);
    if (/^x[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex.slice(1), 16));
      at += 4;
      continue;
    }
    const escaped = line[at + 1]!;
    bytes.push(ESCAPES[String.fromCharCode(escaped)] ?? escaped);
    at += 2;
  }
  return undefined;
}

function readSingle(line: Buffer, start: number, bytes: number[]): number | undefined {
  let at = start;
  while (at < line.length) {
    const byte = line[at]!;
    if (byte === APOSTROPHE) return at + 1;
    const quoted = byte === BACKSLASH && line[at + 1] === APOSTROPHE;
    bytes.push(quoted ? APOSTROPHE : byte);
    at += quoted ? 2 : 1;
  }
  return undefined;
}
