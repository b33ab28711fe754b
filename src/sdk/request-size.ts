/**
 * What a datanode would not read to its end: it closes the connection over such a request, and with
 * it goes what others have sent, and any word about what became of it. So it is never sent. Pure.
 */
import { limits } from '../common/limits.ts';
import type { Argument } from './connection.ts';
import { type ClientError, ownError } from './errors.ts';

/** What a session puts before a command: its name, id, and two numbers. */
const SESSION_ARGUMENTS = 4;
const SESSION_BYTES = 256;
/** Before and behind each argument: `$`, up to eight digits, two ends of a line. */
const HEADER_BYTES = 13;
/** Of UTF-8, for each unit of a text; the digits of any number. */
const UNIT_BYTES_MAX = 3;
const NUMBER_BYTES_MAX = 25;

/** Throws BAD_ARGUMENT for a command that is longer than one request may be. */
export function refuseTooLarge(line: readonly Argument[]): void {
  const count = line.length + SESSION_ARGUMENTS;
  if (count > limits.requestArgumentsMax) {
    throw refusal(line, 'arguments', line.length, 'requestArgumentsMax');
  }
  // Texts are measured only when it may be needed: this is asked of every command.
  if (bytesOf(line, bytesAtMost) <= limits.requestBytesMax) return;
  const bytes = bytesOf(line, exactBytes);
  if (bytes > limits.requestBytesMax) throw refusal(line, 'bytes', bytes, 'requestBytesMax');
}

function bytesOf(line: readonly Argument[], measure: (argument: Argument) => number): number {
  let bytes = SESSION_BYTES;
  for (const argument of line) {
    const length = measure(argument);
    bytes += length + HEADER_BYTES;
  }
  return bytes;
}

function bytesAtMost(argument: Argument): number {
  if (typeof argument === 'string') return argument.length * UNIT_BYTES_MAX;
  return typeof argument === 'number' ? NUMBER_BYTES_MAX : argument.length;
}

function exactBytes(argument: Argument): number {
  return typeof argument === 'object' ? argument.length : Buffer.byteLength(String(argument));
}

function refusal(
  [name]: readonly Argument[],
  what: string,
  count: number,
  bound: 'requestBytesMax' | 'requestArgumentsMax',
): ClientError {
  return ownError(
    'BAD_ARGUMENT',
    `${name} has ${count} ${what}, and a request has at most ${limits[bound]} (limits.${bound}): ` +
      'it was not sent; send it in several commands',
  );
}
