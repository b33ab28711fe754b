/**
 * Where calls stood in the logs of their groups, as the servers told it (DEBUG WITNESS), and whether
 * that fits their times: who began when another had been answered stands behind it, over all keys of
 * a group, and a log has one entry at each index. Pure; n log n in the number of calls.
 */
import { type Call, showCall } from './history.ts';

/** Of one call in the log of its group. */
export interface Place {
  readonly group: number;
  readonly term: number;
  /** Of a write its entry; of a read the last entry that it has seen for certain. */
  readonly index: number;
  /** Of a read the last entry that it may have seen; of a write `index`. */
  readonly upTo: number;
  /** Which command of its entry it is; of a read -1. */
  readonly at: number;
}

export interface PlacedCall extends Call {
  readonly place: Place;
}

/** More commands than an entry has. */
const LINES = 2 ** 20;

/** One number for where a call stands: reads behind all commands of the entry that they have seen. */
export function positionOf({ index, at }: Pick<Place, 'index' | 'at'>): number {
  return index * LINES + (at < 0 ? LINES - 1 : Math.min(at, LINES - 2));
}

/** A position in words. */
export function showPosition(position: number): string {
  if (position === Number.POSITIVE_INFINITY) return 'the end';
  const [index, at] = [Math.floor(position / LINES), position % LINES];
  return at === LINES - 1 ? `a read of entry ${index}` : `entry ${index}.${at}`;
}

export function isPlaced(call: Call): call is PlacedCall {
  return call.place !== undefined && call.reply !== undefined;
}

export function byGroup(calls: readonly Call[]): ReadonlyMap<number, readonly PlacedCall[]> {
  const groups = new Map<number, PlacedCall[]>();
  for (const call of calls.filter(isPlaced)) {
    const mine = groups.get(call.place.group);
    if (mine === undefined) groups.set(call.place.group, [call]);
    else mine.push(call);
  }
  return groups;
}

/** What times say of positions in one group. */
export class GroupTimes {
  readonly #ended: readonly PlacedCall[];
  /** By `#ended`: the highest position so far. */
  readonly #highest: PlacedCall[] = [];
  readonly #began: readonly PlacedCall[];
  /** By `#began`: the lowest position from there on. */
  readonly #lowest: PlacedCall[];

  constructor(calls: readonly PlacedCall[]) {
    this.#ended = [...calls].sort((a, b) => a.returnedMs - b.returnedMs);
    for (const call of this.#ended) {
      const before = this.#highest.at(-1);
      this.#highest.push(before && isBehind(before, call) ? before : call);
    }
    this.#began = [...calls].sort((a, b) => a.invokedMs - b.invokedMs);
    this.#lowest = new Array(calls.length);
    for (let at = calls.length - 1; at >= 0; at--) {
      const behind = this.#lowest[at + 1];
      const call = this.#began[at]!;
      this.#lowest[at] = behind && isBehind(call, behind) ? behind : call;
    }
  }

  /** The last in the log of those that were answered before `ms`. */
  lastBefore(ms: number): PlacedCall | undefined {
    return this.#highest[countWhile(this.#ended, ({ returnedMs }) => returnedMs < ms) - 1];
  }

  /** The first in the log of those that began behind `ms`. */
  firstBehind(ms: number): PlacedCall | undefined {
    return this.#lowest[countWhile(this.#began, ({ invokedMs }) => invokedMs <= ms)];
  }
}

const isBehind = (a: PlacedCall, b: PlacedCall) => positionOf(a.place) > positionOf(b.place);

/** How many of them, from the first on, are so; those behind are not. */
function countWhile<T>(all: readonly T[], isSo: (one: T) => boolean): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isSo(all[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What of one group's calls cannot be, in words. */
export function findDisorder(group: number, calls: readonly PlacedCall[]): readonly string[] {
  return [...inLog(calls), ...inTime(calls)].map((what) => `group ${group}: ${what}`);
}

/** One log: an entry has one term, terms do not fall, and no two writes are the same command. */
function* inLog(calls: readonly PlacedCall[]): Generator<string> {
  const sorted = [...calls].sort((a, b) => positionOf(a.place) - positionOf(b.place));
  for (const [number, call] of sorted.entries()) {
    const before = sorted[number - 1];
    if (before === undefined) continue;
    const [last, { index, term, at }] = [before.place, call.place];
    const both = () => `${showCall(before)}; ${showCall(call)}`;
    if (index === last.index && term !== last.term) {
      yield `entry ${index} is of term ${last.term} and of term ${term}: ${both()}`;
    } else if (term < last.term) {
      yield `entry ${last.index} is of term ${last.term}, and ${index} of ${term}: ${both()}`;
    }
    if (at >= 0 && index === last.index && at === last.at) {
      yield `two writes are command ${at} of entry ${index}: ${both()}`;
    }
  }
}

function* inTime(calls: readonly PlacedCall[]): Generator<string> {
  const times = new GroupTimes(calls);
  for (const call of calls) {
    const before = times.lastBefore(call.invokedMs);
    if (before === undefined) continue;
    const [first, second] = [positionOf(before.place), positionOf(call.place)];
    // two reads may stand alike; a write stands behind what was seen before it began
    if (call.place.at < 0 ? second >= first : second > first) continue;
    yield `began when another had been answered, and stands at ${shown(call.place)}, not behind ` +
      `${shown(before.place)}: ${showCall(before)}; ${showCall(call)}`;
  }
}

function shown({ index, at }: Place): string {
  return at < 0 ? `a read of ${index}` : `${index}.${at}`;
}
