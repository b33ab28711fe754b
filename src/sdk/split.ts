/**
 * Commands over keys of several partitions that are sent in parts, one per partition, and whose
 * replies are put together again. Pure. Each part takes effect by itself: together they are not atomic.
 */
import type { PartitionId } from '../common/ids.ts';
import type { Argument, Reply } from './connection.ts';

export interface Part {
  readonly partition: PartitionId;
  readonly line: readonly Argument[];
  /** For each key of the part: its place among the keys of the whole. */
  readonly places: readonly number[];
}

interface Splittable {
  /** Arguments that go with a key, the key included. */
  readonly step: number;
  /** The replies of all parts, in the order of parts. */
  readonly merge: (replies: readonly Reply[], parts: readonly Part[]) => Reply;
}

const sum = (replies: readonly Reply[]) =>
  replies.reduce<number>((total, reply) => total + Number(reply), 0);

const splittable: Readonly<Record<string, Splittable>> = {
  mget: { step: 1, merge: byKey },
  mset: { step: 2, merge: (replies) => replies[0] ?? null },
  del: { step: 1, merge: sum },
  exists: { step: 1, merge: sum },
  unlink: { step: 1, merge: sum },
  touch: { step: 1, merge: sum },
};

/**
 * Undefined: the command is not one that is split. Of each key, in order: its partition, and what
 * the keys of a part have in common: that, or their slot (`PartitionTable.slotsApart`).
 */
export function splitLine(
  name: string,
  line: readonly Argument[],
  partitions: readonly PartitionId[],
  units: readonly number[],
): readonly Part[] | undefined {
  const step = splittable[name]?.step;
  const [word] = line;
  // An odd MSET is the server's to refuse.
  if (step === undefined || word === undefined || line.length - 1 !== partitions.length * step) {
    return undefined;
  }
  const parts = new Map<number, { partition: PartitionId; line: Argument[]; places: number[] }>();
  partitions.forEach((partition, place) => {
    const unit = units[place]!;
    const part = parts.get(unit) ?? { partition, line: [word], places: [] };
    const at = 1 + place * step;
    part.line.push(...line.slice(at, at + step));
    part.places.push(place);
    parts.set(unit, part);
  });
  return [...parts.values()];
}

/** The reply of the whole. */
export function mergeReplies(
  name: string,
  replies: readonly Reply[],
  parts: readonly Part[],
): Reply {
  return splittable[name]?.merge(replies, parts) ?? null;
}

function byKey(replies: readonly Reply[], parts: readonly Part[]): Reply {
  const whole: Reply[] = [];
  parts.forEach(({ places }, at) => {
    const items = replies[at] as readonly Reply[];
    places.forEach((place, item) => {
      whole[place] = items[item] ?? null;
    });
  });
  return whole;
}
