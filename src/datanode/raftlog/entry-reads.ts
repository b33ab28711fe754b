/**
 * Entries that memory holds no more, read back from their segments: what is found where an entry was
 * written must be that entry.
 */
import { must } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { Entry } from '../raft/message.ts';
import { damaged, diskFailed } from './damage.ts';
import { decodeEntry } from './format.ts';
import type { RecordPlace, Segment, SegmentSet } from './segment.ts';

/**
 * The entries of `replica` from index `from` on, whose records lie at `places` of one segment, in that
 * order. It blocks: what the raft core asks for was written lately and comes from the page cache, and
 * so the core stays synchronous. Throws KvorumError CORRUPT or DISK_FAILED.
 */
export function readEntries(
  segments: SegmentSet,
  replica: ReplicaId,
  places: readonly RecordPlace[],
  from: LogIndex,
): Entry[] {
  const first = must(places[0], 'there is something to read');
  const last = must(places.at(-1), 'there is something to read');
  const segment = must(segments.get(first.segment), `segment ${first.segment} is known`);
  const bytes = readBytes(segment, first.offset, last.offset + last.bytes);
  const entries: Entry[] = [];
  for (const [i, place] of places.entries()) {
    const record = decodeEntry(bytes, place.offset - first.offset, segment.number);
    entries.push(checked(record, segment, place, replica, from + i));
  }
  return entries;
}

/** One entry, without blocking. Throws KvorumError CORRUPT, or the disk's own error. */
export async function readEntry(
  segment: Segment,
  place: RecordPlace,
  replica: ReplicaId,
  index: LogIndex,
): Promise<Entry> {
  const bytes = await segment.opened.pread(place.offset, place.bytes);
  return checked(decodeEntry(bytes, 0, segment.number), segment, place, replica, index);
}

function readBytes(segment: Segment, from: number, to: number): Buffer {
  try {
    return segment.opened.preadSync(from, to - from);
  } catch (cause) {
    throw diskFailed(segment.path, 'reading', cause);
  }
}

function checked(
  record: ReturnType<typeof decodeEntry>,
  segment: Segment,
  place: RecordPlace,
  replica: ReplicaId,
  index: LogIndex,
): Entry {
  if (record?.replica === replica && record.entry.index === index) return record.entry;
  const what = `entry ${index} of replica ${replica} is not sound`;
  throw damaged(segment.path, place.offset, what);
}
