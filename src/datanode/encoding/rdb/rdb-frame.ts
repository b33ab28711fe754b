/**
 * What an RDB file has around its keys:
 *
 *   REDIS and its version in four digits · auxiliary fields · the database · about how many keys there are
 *   · libraries of functions · keys · the end · CRC-64 of all before it, little-endian
 */
import { encodeRdbLength, encodeRdbString } from './rdb-elements.ts';

export const rdbOpcodes = {
  /** A library of functions, as Redis has them since 7.0. */
  function: 0xf5,
  auxiliary: 0xfa,
  resize: 0xfb,
  expiresMs: 0xfc,
  database: 0xfe,
  end: 0xff,
} as const;

/** Versions of files. */
export const rdbFileVersions = {
  /** Redis 7.0 and later read it. */
  plain: 10,
  /** Redis 7.4 and later do: hashes whose fields have deadlines. */
  withFieldDeadlines: 12,
} as const;

export interface RdbFileHead {
  readonly version: number;
  /** Seconds since 1970. */
  readonly madeS: number;
  /** Of kvorum. */
  readonly madeBy: string;
  /** About how many: readers make room for them. */
  readonly keys: number;
  readonly expires: number;
}

/** Behind it the keys follow. */
export function encodeRdbFileHead({ version, madeS, madeBy, keys, expires }: RdbFileHead): Buffer {
  const fields = [
    ['redis-ver', '7.0.0'],
    ['redis-bits', '64'],
    ['ctime', String(madeS)],
    ['kvorum-version', madeBy],
  ];
  return Buffer.concat([
    Buffer.from(`REDIS${String(version).padStart(4, '0')}`, 'latin1'),
    ...fields.flatMap((pair) => [Buffer.of(rdbOpcodes.auxiliary), ...pair.flatMap(text)]),
    ...[Buffer.of(rdbOpcodes.database), encodeRdbLength(0)],
    ...[Buffer.of(rdbOpcodes.resize), encodeRdbLength(keys), encodeRdbLength(expires)],
  ]);
}

/** Behind the keys; then the checksum follows. */
export const RDB_END = Buffer.of(rdbOpcodes.end);

function text(value: string): readonly Buffer[] {
  return encodeRdbString(Buffer.from(value, 'latin1'));
}
