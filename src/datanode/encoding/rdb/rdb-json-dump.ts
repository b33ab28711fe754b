/** A JSON document in a DUMP or an RDB file: `rdb-json.ts` says how it lies there. */
import { encodeRdbString } from './rdb-elements.ts';
import { RDB_JSON_MODULE, RDB_MODULE_TYPE, rdbModuleParts } from './rdb-json.ts';

/** Its type; in an RDB file the key comes behind it. */
export const RDB_JSON_TYPE_BYTE = Buffer.of(RDB_MODULE_TYPE);

/** What comes behind the type, and in an RDB file behind the key. */
export function encodeRdbJson(text: Buffer): readonly Buffer[] {
  const { string, end } = rdbModuleParts;
  return [RDB_JSON_MODULE, Buffer.of(string), ...encodeRdbString(text), Buffer.of(end)];
}
