/**
 * Commands over keys of several partitions that are sent in parts, one per partition, and whose
 * replies are put together again. Pure. Each part takes effect by itself: together they are not atomic.
 */
import type { PartitionId } from '../common/ids.ts';
import type { Argument, Reply } from './connection.ts';
import { type ClientError, type OwnErrorCode, ownError } from './errors.ts';

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

/** Where a key belongs: keys of one `unit` are of one partition, and go together. */
export interface KeyUnit {
  readonly unit: number;
  readonly partition: PartitionId;
}

/** Undefined: the command is not one that is split. `units`: of each key, in order. */
export function splitLine(
  name: string,
  line: readonly Argument[],
  units: readonly KeyUnit[],
): readonly Part[] | undefined {
  const step = splittable[name]?.step;
  const [word] = line;
  // An odd MSET is the server's to refuse.
  if (step === undefined || word === undefined || line.length - 1 !== units.length * step) {
    return undefined;
  }
  const parts = new Map<number, { partition: PartitionId; line: Argument[]; places: number[] }>();
  units.forEach(({ unit, partition }, place) => {
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

/**
 * What the whole of a write is rejected with, of which not all parts succeeded: of it nothing may have
 * taken effect if it says `retriable`. `failures`: at least one, in the order of parts.
 */
export function failureOfWrite(
  name: string,
  failures: readonly ClientError[],
  parts: number,
): ClientError {
  const codeIs = (wanted: OwnErrorCode) => failures.find(({ code }) => code === wanted);
  // a part is `PARTIAL` itself when a gateway had to split it: the client's table is old
  const ended = codeIs('OUTCOME_UNKNOWN') ?? codeIs('PARTIAL');
  if (ended !== undefined) return ended;
  const undone = failures.filter(({ code }) => code !== 'DONE');
  const [first = failures[0]!] = undone;
  if (undone.length === 0 || undone.length === parts) return first;
  const numbers = undone.map(({ partition }) => partition).join(', ');
  const text = `${name} took effect in part, but not in partition ${numbers}: ${first.message}`;
  return ownError('PARTIAL', text, { partition: first.partition, cause: first });
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
