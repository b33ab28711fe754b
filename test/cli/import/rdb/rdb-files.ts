/** RDB files built by hand, and what a parser makes of one. */

import type { RdbEvent, RdbPart } from '../../../../src/cli/import/rdb/rdb-events.ts';
import { RdbParser } from '../../../../src/cli/import/rdb/rdb-parser.ts';
import { RunningCrc64 } from '../../../../src/datanode/encoding/rdb/crc64.ts';
import { text } from '../../../datanode/encoding/rdb/rdb-forms.ts';

/** A file of these parts, with its header, its end and (from version 5 on) its checksum. */
export function rdbFile(version: number, ...parts: readonly Buffer[]): Buffer {
  const header = Buffer.from(`REDIS${String(version).padStart(4, '0')}`);
  const body = Buffer.concat([header, ...parts, Buffer.of(255)]);
  if (version < 5) return body;
  const sum = new RunningCrc64();
  sum.update(body);
  return Buffer.concat([body, sum.digest()]);
}

/** A key with a value as `rdb-forms` make them. */
export function keyed(key: string, value: Buffer): Buffer {
  return Buffer.concat([value.subarray(0, 1), text(key), value.subarray(1)]);
}

export interface ParseOptions {
  /** Bytes that come at once; undefined: all. */
  readonly chunkBytes?: number;
  readonly wholeBytes?: number;
}

/** All events of a file that has come to its end. Throws as the parser does. */
export function parsed(file: Buffer, options: ParseOptions = {}): RdbEvent[] {
  const parser = new RdbParser(options.wholeBytes);
  const events: RdbEvent[] = [];
  const step = options.chunkBytes ?? Math.max(1, file.length);
  const take = () => {
    for (let event = parser.next(); event !== undefined; event = parser.next()) events.push(event);
  };
  for (let at = 0; at < file.length && !parser.isDone; at += step) {
    parser.push(Buffer.from(file.subarray(at, at + step)));
    take();
  }
  parser.close();
  take();
  const { length } = parser.rest();
  if (length > 0) throw new Error(`at byte ${parser.offset}, in nothing: ${length} bytes are left`);
  return events;
}

/** The parts of all large values in a row. */
export function partsOf(events: readonly RdbEvent[]): RdbPart[] {
  return events.flatMap((event) => (event.kind === 'part' ? [event.part] : []));
}
