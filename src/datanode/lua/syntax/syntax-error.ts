/** A text that is no Lua: the message as Lua 5.1 has it, with its position. */
export class LuaSyntaxError extends Error {
  override readonly name = 'LuaSyntaxError';
}

const NAME_MAX = 79;
const FILE_NAME_MAX = 72;
const FIRST_LINE_MAX = 63;

/** What messages call a chunk: `=name` and `@file` by name, others by the beginning of their text. */
export function chunkName(source: string): string {
  const text = source.slice(0, endOf(source, '\0'));
  if (text.startsWith('=')) return text.slice(1, 1 + NAME_MAX);
  if (text.startsWith('@')) {
    const file = text.slice(1);
    return file.length > FILE_NAME_MAX ? `...${file.slice(-FILE_NAME_MAX)}` : file;
  }
  const line = text.slice(0, Math.min(endOf(text, '\n'), endOf(text, '\r'), FIRST_LINE_MAX));
  return `[string "${line}${line.length < text.length ? '...' : ''}"]`;
}

function endOf(text: string, mark: string): number {
  const at = text.indexOf(mark);
  return at < 0 ? text.length : at;
}
