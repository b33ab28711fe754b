/**
 * A JSON document as RedisJSON puts it into dumps and RDB files: a value of a module, which is its text.
 *
 *   type 7 · the module's number, as a length of 64 bits · 5, a string · the text · 0, the end
 *
 * A module's number is its name, in nine characters of six bits, and ten bits of version.
 */
import { RdbError, type RdbReader } from './rdb-reader.ts';

export const RDB_MODULE_TYPE = 7;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NAME = 'ReJSON-RL';
/** Of RedisJSON 2 and later. */
const VERSION = 3;
const VERSION_BITS = 10n;
/** What stands before a length of 64 bits. */
const WIDE_LENGTH = 0x81;
/** Each in one byte. */
export const rdbModuleParts = { string: 5, end: 0 } as const;

/** The module's number as it is written. */
export const RDB_JSON_MODULE = Buffer.concat([Buffer.of(WIDE_LENGTH), Buffer.alloc(8)]);
RDB_JSON_MODULE.writeBigUInt64BE((numberOfName(NAME) << VERSION_BITS) | BigInt(VERSION), 1);

/** Behind the type: the document's text. Throws RdbError where it is none. */
export function readRdbJson(reader: RdbReader): Buffer {
  const refusal = refusalOfModule(reader.u64());
  if (refusal !== undefined) throw new RdbError(refusal);
  if (reader.length() !== rdbModuleParts.string) throw new RdbError('a document without its text');
  const text = reader.string();
  if (reader.length() !== rdbModuleParts.end) throw new RdbError('a document that does not end');
  return text;
}

/** Why a value of this module is none that is read here; undefined: it is a document. */
export function refusalOfModule(module: bigint): string | undefined {
  const name = rdbModuleName(module);
  if (name !== NAME) return `it is a value of the module ${name}`;
  const version = Number(module & ((1n << VERSION_BITS) - 1n));
  if (version === VERSION) return undefined;
  return `it is a JSON document of version ${version}, and what is read is version ${VERSION}`;
}

export function rdbModuleName(module: bigint): string {
  let name = '';
  for (let rest = module >> VERSION_BITS; name.length < NAME.length; rest >>= 6n) {
    name = LETTERS[Number(rest & 63n)]! + name;
  }
  return name;
}

function numberOfName(name: string): bigint {
  return [...name].reduce((all, letter) => (all << 6n) | BigInt(LETTERS.indexOf(letter)), 0n);
}
