/**
 * A JSON document as RedisJSON puts it into dumps and RDB files: a value of a module, which is its text.
 *
 *   type 7 · the module's number (its name in 9 characters of 6 bits, and 10 bits of version), as a length of 64 bits
 *   · 5, a string · the text · 0, the end
 */
import { RdbError, type RdbReader } from './rdb-reader.ts';

export const RDB_MODULE_TYPE = 7;
const NAME = 'ReJSON-RL';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Of RedisJSON 2 and later. */
const VERSION = 3n;
const VERSION_BITS = 10n;
const WIDE_LENGTH = 0x81;
/** Each in one byte. */
export const rdbModuleParts = { string: 5, end: 0 } as const;

const NUMBER = [...NAME].reduce((number, letter) => {
  return (number << 6n) | BigInt(LETTERS.indexOf(letter));
}, 0n);

/** The module's number as it is written. */
export const RDB_JSON_MODULE = Buffer.concat([Buffer.of(WIDE_LENGTH), Buffer.alloc(8)]);
RDB_JSON_MODULE.writeBigUInt64BE((NUMBER << VERSION_BITS) | VERSION, 1);

/** Behind the type: the document's text. Throws RdbError where it is a value of another module. */
export function readRdbJson(reader: RdbReader): Buffer {
  const first = reader.u8();
  const module = first === WIDE_LENGTH ? reader.raw(8).readBigUInt64BE() : 0n;
  if (module >> VERSION_BITS !== NUMBER) throw new RdbError(`a value of ${nameOf(module)}`);
  if ((module & 0x3ffn) !== VERSION) {
    throw new RdbError(`a JSON document of version ${module & 0x3ffn}, not ${VERSION}`);
  }
  if (reader.length() !== rdbModuleParts.string)
    throw new RdbError('a JSON document without its text');
  const text = reader.string();
  if (reader.length() !== rdbModuleParts.end)
    throw new RdbError('a JSON document that does not end');
  return text;
}

function nameOf(module: bigint): string {
  if (module === 0n) return 'a module';
  let name = '';
  for (let at = 8n; at >= 0n; at--) {
    name += LETTERS[Number((module >> (VERSION_BITS + at * 6n)) & 63n)];
  }
  return `module ${name}`;
}
