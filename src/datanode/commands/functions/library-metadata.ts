/** `#!lua name=mylib`: the first line of a library, which says what it is (redis.io, Redis functions). */
import { limits } from '../../../common/limits.ts';
import { isFunctionName } from '../../encoding/scripts/kept-libraries.ts';
import { splitInline } from '../../resp/inline.ts';
import { lineOf, textOf } from '../scripts/script-errors.ts';

export type Metadata =
  /** `source` is what the machine is given, one character for each byte: its lines are those of the library. */
  | { readonly ok: true; readonly name: string; readonly source: string }
  /** An error's text. */
  | { readonly ok: false; readonly message: string };

export const BAD_NAME =
  'Library names can only contain letters, numbers, or underscores(_) and must be at least one character long';
export const LONG_NAME = `a name of a library or a function has ${limits.libraryNameBytesMax} bytes at most`;
const NAME = /^name=/i;

/** Of the code as it is sent. */
export function parseMetadata(code: Buffer): Metadata {
  const text = code.toString('latin1');
  if (!text.startsWith('#!')) return refused('Missing library metadata');
  // as in C it ends at a zero byte
  const end = /[\n\0]/.exec(text)?.index;
  if (end === undefined || text[end] !== '\n') return refused('Invalid library metadata');
  const parts = splitInline(code.subarray(0, end))?.map((part) => part.toString('latin1'));
  if (parts === undefined) return refused('Invalid library metadata');
  const [engine = '', ...options] = parts;
  let name: string | undefined;
  for (const option of options) {
    if (!NAME.test(option)) return refused(`Invalid metadata value given: ${option}`);
    if (name !== undefined) {
      return refused('Invalid metadata value, name argument was given multiple times');
    }
    name = option.slice('name='.length);
  }
  if (name === undefined) return refused('Library name was not given');
  const wrong = nameRefusal(name);
  if (wrong !== undefined) return refused(wrong);
  const asked = engine.slice('#!'.length);
  if (asked.toLowerCase() !== 'lua') return refused(`Engine '${asked}' not found`);
  // Redis leaves the line's end, so that lines are counted alike
  return { ok: true, name, source: text.slice(end) };
}

/** Why neither a library nor a function has this name. */
export function nameRefusal(name: string): string | undefined {
  if (isFunctionName(name)) return undefined;
  return /^\w+$/.test(name) ? LONG_NAME : BAD_NAME;
}

function refused(message: string): Metadata {
  return { ok: false, message: `ERR ${lineOf(textOf(message))}` };
}
