/** Entries of streams in replies. */
import { formatStreamId, type StreamId } from '../../encoding/records/stream-id.ts';
import type { StreamEntry } from '../../encoding/streams/stream-entries.ts';
import type { EntryFields } from '../../encoding/streams/stream-entry.ts';
import { array, bulk, integer, NULL_ARRAY, type Reply } from '../../resp/reply.ts';

/** ID and fields. */
export function entryReply({ id, fields }: StreamEntry): Reply {
  return array([idReply(id), fieldsReply(fields)]);
}

/** As whoever reads with CLAIM is told: how long ago it was last given to anybody, and how often it was. */
export function claimedReply(
  { id, fields }: StreamEntry,
  idleMs: number,
  deliveries: number,
): Reply {
  return array([idReply(id), fieldsReply(fields), integer(idleMs), integer(deliveries)]);
}

/** One that is pending and gone. */
export function goneReply(id: StreamId): Reply {
  return array([idReply(id), NULL_ARRAY]);
}

export function idReply(id: StreamId): Reply {
  return bulk(formatStreamId(id));
}

function fieldsReply(fields: EntryFields): Reply {
  return array(fields.map((field) => bulk(field)));
}

export function mapReply(fields: readonly (readonly [string, Reply])[]): Reply {
  return { kind: 'map', pairs: fields.map(([name, value]) => [bulk(name), value]) };
}
