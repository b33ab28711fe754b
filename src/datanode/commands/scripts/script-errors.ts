/** What is wrong with a script, in Redis 7.0's words. */
import { limits } from '../../../common/limits.ts';
import { LuaError, type Position } from '../../lua/values/error.ts';
import { LuaTable } from '../../lua/values/table.ts';
import { error, type Reply } from '../../resp/reply.ts';
import { replyTooLarge } from '../../resp/reply-pile.ts';

const LINE_END = /[\r\n]/;
const BLANK = 0x20;
/** Of a text, so many characters are looked through at once. */
const PIECE = 65_536;

export const NO_SCRIPT = error('NOSCRIPT No matching script. Please use EVAL.');
export const WRITES = error('ERR Can not execute a script with write flag using *_ro command.');

/** An error as scripts have it: a table with the field `err`, raised or given back. */
export function errorTable(text: string, isOfCommand = false): LuaTable {
  const table = new LuaTable();
  table.set('err', text);
  if (isOfCommand) table.set('ignore_error_stats_update', true);
  return table;
}

/** Raised as it is: who reads it is told the line by what the machine says of it. */
export function raised(text: string): LuaError {
  return new LuaError(errorTable(`ERR ${text}`), 0);
}

/**
 * The text of an error as `redis.error_reply` makes it of what a script says: a word and a text stay as they
 * are, of one word alone it is `ERR`. As in C it ends at a zero byte.
 */
export function errorText(message: string): string {
  const zero = message.indexOf('\0');
  const whole = zero < 0 ? message : message.slice(0, zero);
  const text = trimmed(whole.startsWith('-') ? whole.slice(1) : whole);
  const blank = text.indexOf(' ');
  return blank < 0 ? `ERR ${text}` : `${text.slice(0, blank)} ${trimmed(text.slice(blank + 1))}`;
}

/** What a script answers that ended with an error which nothing in it caught. */
export function uncaught(sha: string, failure: LuaError): Reply {
  const { position } = failure;
  const text = errorMessage(failure);
  if (text.length > limits.replyBytesMax) return replyTooLarge('a shorter text of the error').reply;
  // it was no function of Lua that ran
  if (position === undefined) return error(lineOf(textOf(text)));
  return ended(sha, text, position);
}

/** `message` begins with its code. */
export function ended(sha: string, message: string, position?: Position): Reply {
  const where = position === undefined ? '' : `, on ${position.source}:${position.line}`;
  return error(lineOf(`${textOf(message)} script: ${sha}${where}.`));
}

/** What an error says that nothing caught, with its code. */
export function errorMessage({ value }: LuaError): string {
  const inner = value instanceof LuaTable ? value.get('err') : value;
  if (typeof inner === 'string') return inner === value ? `ERR ${inner}` : inner;
  if (typeof inner === 'number' || typeof inner === 'boolean') return `ERR ${inner}`;
  return inner === undefined && value === undefined ? 'ERR nil' : 'ERR unknown error';
}

/**
 * On one line, as errors and statuses are. By hand, since no one else has a turn meanwhile: an expression takes
 * 100 ns for each line end, seconds for a text of them.
 */
export function lineOf(text: string): string {
  if (!LINE_END.test(text)) return text;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += PIECE) pieces.push(blanked(text.slice(at, at + PIECE)));
  return pieces.join('');
}

function blanked(piece: string): string {
  const bytes = Buffer.from(piece, 'utf16le');
  for (let at = 0; at < bytes.length; at += 2) {
    if (bytes[at + 1] === 0 && isLineEnd(bytes[at]!)) bytes[at] = BLANK;
  }
  return bytes.toString('utf16le');
}

/** Bytes as the text they are in UTF-8. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

/** By hand: an expression that looks for the end of a text looks at each run of line ends again and again. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isLineEnd(text.charCodeAt(start))) start++;
  while (end > start && isLineEnd(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isLineEnd(code: number): boolean {
  return code === 0x0d || code === 0x0a;
}
