/** How a stream is laid out in an RDB file (`rdb-stream.ts` of the encoding tells the format). */
import { rdbTypes } from '../../../datanode/encoding/rdb/rdb-decode.ts';
import { RdbError, RdbReader, unbounded } from '../../../datanode/encoding/rdb/rdb-reader.ts';
import { entriesOfNode } from '../../../datanode/encoding/rdb/rdb-stream-nodes.ts';
import {
  compareIds,
  MIN_STREAM_ID,
  STREAM_ID_BYTES,
  type StreamId,
} from '../../../datanode/encoding/records/stream-id.ts';
import { decodeEntry } from '../../../datanode/encoding/streams/stream-entry.ts';
import { PendingTable } from './pending-table.ts';
import type { Walk } from './value-walk.ts';

/** Of a group, how many entries it has read: not known. */
const NOT_KNOWN = 2n ** 64n - 1n;

export function* streamWalk(type: number): Walk {
  const hasCounts = type !== rdbTypes.stream;
  const entries = yield* nodes();
  const count = Number((yield 'number') as bigint);
  if (entries.told && entries.count !== count) throw new RdbError('a stream says another count');
  const lastId = yield* id();
  if (compareIds(entries.last, lastId) > 0) throw new RdbError('an entry is behind the last');
  if (hasCounts) yield* id();
  const maxDeletedId = hasCounts ? yield* id() : undefined;
  const entriesAdded = hasCounts ? Number((yield 'number') as bigint) : undefined;
  if (entries.told) yield { kind: 'ends', lastId, maxDeletedId, entriesAdded };
  for (let left = (yield 'length') as number; left > 0; left--) {
    yield* group(type, hasCounts);
  }
}

/** `told`: the entries were given out. */
function* nodes(): Walk<{ readonly told: boolean; readonly count: number; readonly last: Buffer }> {
  let [told, count, last]: [boolean, number, Buffer] = [true, 0, MIN_STREAM_ID];
  for (let left = (yield 'length') as number; left > 0; left--) {
    const first = (yield 'packed') as Buffer | undefined;
    const listpack = (yield 'packed') as Buffer | undefined;
    if (first === undefined || listpack === undefined) {
      told = false;
      continue;
    }
    for (const entry of entriesOfNode(new RdbReader(listpack, unbounded), first, listpack)) {
      if (entry === undefined) continue;
      if (compareIds(entry.id, last) <= 0) throw new RdbError('entries are not in order');
      last = entry.id;
      count++;
      yield { kind: 'entry', id: entry.id, fields: decodeEntry(entry.id, entry.value) };
    }
  }
  return { told, count, last };
}

function* id(): Walk<StreamId> {
  const read = Buffer.allocUnsafe(STREAM_ID_BYTES);
  read.writeBigUInt64BE((yield 'number') as bigint, 0);
  read.writeBigUInt64BE((yield 'number') as bigint, 8);
  return read;
}

function* group(type: number, hasCounts: boolean): Walk {
  const name = (yield 'string') as Buffer | undefined;
  const lastId = yield* id();
  const read = hasCounts ? ((yield 'number') as bigint) : NOT_KNOWN;
  if (name !== undefined) {
    const entriesRead = read === NOT_KNOWN ? undefined : Number(read);
    yield { kind: 'group', name, lastId, entriesRead };
  }
  let pending = name === undefined ? undefined : new PendingTable();
  for (let left = (yield 'length') as number; left > 0; left--) {
    const pendingId = (yield STREAM_ID_BYTES) as Buffer;
    const deliveredMs = ((yield 8) as Buffer).readBigUInt64LE();
    const deliveries = Number((yield 'number') as bigint);
    if (pending === undefined || pending.add(pendingId, deliveredMs, deliveries)) continue;
    yield { kind: 'refuse', why: `more than ${pending.length} entries are pending in a group` };
    pending = undefined;
  }
  yield* consumers(type, name, pending);
}

function* consumers(
  type: number,
  group: Buffer | undefined,
  pending: PendingTable | undefined,
): Walk {
  let all = pending;
  for (let left = (yield 'length') as number; left > 0; left--) {
    const name = (yield 'string') as Buffer | undefined;
    yield type === rdbTypes.stream72 ? 16 : 8;
    if (name === undefined) all = undefined;
    if (group !== undefined && name !== undefined) yield { kind: 'consumer', group, name };
    for (let owned = (yield 'length') as number; owned > 0; owned--) {
      const id = Buffer.from((yield STREAM_ID_BYTES) as Buffer);
      if (all === undefined || group === undefined || name === undefined) continue;
      yield { kind: 'pending', group, consumer: name, id, ...all.take(id) };
    }
  }
  if (all !== undefined && all.left > 0) throw new RdbError('an entry is pending for nobody');
}
