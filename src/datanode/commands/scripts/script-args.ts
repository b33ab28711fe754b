/** Arguments of EVAL and its relatives: a script or its SHA-1, `numkeys key … argument …`. */
import { createHash } from 'node:crypto';
import { limits } from '../../../common/limits.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import { argument, integerArgument } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';

type Line = readonly Buffer[];

/** Where the number of keys stands. */
const NUMKEYS_AT = 2;
const KEYS_AT = NUMKEYS_AT + 1;

/** What a script is called with. */
export interface ScriptCall {
  /** The body, or its SHA-1. */
  readonly script: Buffer;
  readonly keys: Line;
  readonly args: Line;
}

/** Wrong numbers name no keys. */
export function scriptKeys(line: Line): Line {
  const count = line[NUMKEYS_AT] && parseInteger(line[NUMKEYS_AT]);
  if (typeof count !== 'number' || count < 1 || KEYS_AT + count > line.length) return [];
  return line.slice(KEYS_AT, KEYS_AT + count);
}

export function parseCall(line: Line): ScriptCall {
  const count = integerArgument(argument(line, NUMKEYS_AT));
  if (count > line.length - KEYS_AT) {
    throw new ArgumentError("ERR Number of keys can't be greater than number of args");
  }
  if (count < 0) throw new ArgumentError("ERR Number of keys can't be negative");
  const argsAt = KEYS_AT + Number(count);
  const keys = line.slice(KEYS_AT, argsAt);
  return { script: argument(line, 1), keys, args: line.slice(argsAt) };
}

export function parseEval(line: Line): ScriptCall {
  parseBody(line[1]);
  return parseCall(line);
}

/** The body of a script, of a length that may be stored. */
export function parseBody(body: Buffer | undefined): Buffer {
  if (body !== undefined && body.length <= limits.scriptBytesMax) return body;
  throw new ArgumentError(`ERR a script has ${limits.scriptBytesMax} bytes at most`);
}

/** The SHA-1 of the body, in the digits of EVALSHA: what names no key runs where that would lie as a key. */
export function shaOfBody(line: Line): Buffer {
  return Buffer.from(createHash('sha1').update(argument(line, 1)).digest('hex'));
}

export function shaGiven(line: Line): Buffer {
  return Buffer.from(argument(line, 1).toString('latin1').toLowerCase(), 'latin1');
}
