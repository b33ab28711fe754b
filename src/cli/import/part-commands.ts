/** Parts of large values as commands. Pure. */
import type { StreamId } from '../../datanode/encoding/records/stream-id.ts';
import type { RdbPart } from './rdb/rdb-events.ts';

export interface PartCommand {
  readonly lines: readonly (readonly [name: string, ...args: unknown[]])[];
  /** What may be added to a command of the part before instead; undefined: it is for itself. */
  readonly joins?: readonly unknown[] | undefined;
  readonly items: number;
  readonly bytes: number;
}

export type LengthCommand = 'LLEN' | 'SCARD' | 'HLEN' | 'ZCARD' | 'XLEN';

/** What tells how many parts of this kind there are; undefined: nothing does. */
export function countOf(part: RdbPart, isSet = false): LengthCommand | undefined {
  switch (part.kind) {
    case 'element':
      return isSet ? 'SCARD' : 'LLEN';
    case 'field':
      return 'HLEN';
    case 'member':
      return 'ZCARD';
    case 'entry':
      return 'XLEN';
    default:
      return undefined;
  }
}

/** `isSet`: elements are of a set, not of a list. */
export function commandOf(key: Buffer, part: RdbPart, isSet = false): PartCommand {
  switch (part.kind) {
    case 'element':
      return joined(isSet ? 'SADD' : 'RPUSH', key, [part.element], part.element.length);
    case 'member':
      return joined('ZADD', key, [scoreText(part.score), part.member], part.member.length);
    case 'field':
      return fieldCommand(key, part);
    case 'entry': {
      const bytes = part.fields.reduce((sum, { length }) => sum + length, 0);
      return alone(['XADD', key, idText(part.id), ...part.fields], part.fields.length, bytes);
    }
    case 'ends': {
      const { lastId, maxDeletedId, entriesAdded } = part;
      const added = entriesAdded === undefined ? [] : ['ENTRIESADDED', entriesAdded];
      const deleted = maxDeletedId === undefined ? [] : ['MAXDELETEDID', idText(maxDeletedId)];
      return alone(['XSETID', key, idText(lastId), ...added, ...deleted]);
    }
    case 'group': {
      const read = part.entriesRead === undefined ? [] : ['ENTRIESREAD', part.entriesRead];
      return alone(['XGROUP', 'CREATE', key, part.name, idText(part.lastId), ...read]);
    }
    case 'consumer':
      return alone(['XGROUP', 'CREATECONSUMER', key, part.group, part.name]);
    case 'pending': {
      const { group, consumer, id, deliveredMs, deliveries } = part;
      const times = ['TIME', deliveredMs, 'RETRYCOUNT', deliveries, 'FORCE', 'JUSTID'];
      return alone(['XCLAIM', key, group, consumer, 0, idText(id), ...times]);
    }
  }
}

function fieldCommand(key: Buffer, part: Extract<RdbPart, { kind: 'field' }>): PartCommand {
  const { field, value, deadlineMs } = part;
  const bytes = field.length + value.length;
  if (deadlineMs === 0) return joined('HSET', key, [field, value], bytes);
  const expire = ['HPEXPIREAT', key, deadlineMs, 'FIELDS', 1, field] as const;
  return { lines: [['HSET', key, field, value], expire], items: 2, bytes };
}

function joined(name: string, key: Buffer, joins: readonly unknown[], bytes: number): PartCommand {
  return { lines: [[name, key, ...joins]], joins, items: joins.length, bytes };
}

function alone(
  line: readonly [name: string, ...args: unknown[]],
  items = 1,
  bytes = 0,
): PartCommand {
  return { lines: [line], items, bytes };
}

export function idText(id: StreamId): string {
  return `${id.readBigUInt64BE(0)}-${id.readBigUInt64BE(8)}`;
}

function scoreText(score: number): string {
  if (Object.is(score, -0)) return '-0';
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? '+inf' : '-inf';
}
