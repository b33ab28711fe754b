/**
 * The white-box check of a history: calls are run in the order in which they stood in their groups'
 * logs, and each must have been told what that gives. Linear in the number of calls where all places
 * are known. A call without one (an unknown outcome, a reply that was kept from an earlier try, a
 * client that was served after a wait, a door that does not tell) may have stood anywhere between
 * what was answered before it began and what began when it was answered: all ways are followed, up
 * to a bound, beyond which a part is undecided (`search.ts` judges it by times alone).
 */
import {
  type Call,
  deadlines,
  isRead,
  membersOf,
  operationsOf,
  partsOf,
  type Slack,
} from './history.ts';
import { Keyspace } from './keyspace.ts';
import type { Operation } from './operation.ts';
import {
  byGroup,
  findDisorder,
  GroupTimes,
  isPlaced,
  type PlacedCall,
  positionOf,
  showPosition,
} from './places.ts';

export interface PlacesVerdict {
  /** Calls whose place is known. */
  readonly placed: number;
  readonly groups: number;
  /** Parts that were replayed, and those of them that have too many ways. */
  readonly parts: number;
  readonly undecided: number;
  /** What cannot be, in words. */
  readonly findings: readonly string[];
}

/** Something that stood between two positions; what only `may` have, or nowhere. */
interface Floating {
  readonly number: number;
  readonly operation: Operation<Keyspace>;
  /** Behind this position, and not behind that. */
  readonly floor: number;
  readonly ceiling: number;
  readonly kind: 'must' | 'may' | 'deadline';
}

/** One way in which all so far may have taken effect. */
interface Way {
  readonly state: Keyspace;
  /** Of those that float and whose ceiling is ahead: which have taken effect. */
  readonly used: ReadonlySet<number>;
}

const WAYS_MAX = 1_024;
const FINDINGS_MAX = 50;

export function judgePlaces(
  calls: readonly Call[],
  slack: Slack = { earlyMs: 0, lateMs: 0 },
): PlacesVerdict {
  const groups = byGroup(calls);
  const findings = [...groups].flatMap(([group, placed]) => findDisorder(group, placed));
  const times = new Map([...groups].map(([group, placed]) => [group, new GroupTimes(placed)]));
  let [parts, undecided] = [0, 0];
  for (const part of partsOf(calls)) {
    const known = [...new Set(part.calls.filter(isPlaced).map(({ place }) => place.group))];
    if (known.length === 0) continue;
    parts++;
    const name = part.keys.join(', ');
    if (known.length > 1) findings.push(`${name}: is in groups ${known.join(' and ')}`);
    else {
      const found = replay(part.calls, times.get(known[0]!)!, slack);
      if (found === 'undecided') undecided++;
      else if (found !== undefined) findings.push(`${name}: ${found}`);
    }
  }
  const placed = [...groups.values()].reduce((sum, mine) => sum + mine.length, 0);
  return {
    ...{ placed, groups: groups.size, parts, undecided },
    findings: findings.slice(0, FINDINGS_MAX),
  };
}

/** What is wrong with calls of one group that share keys; undefined: nothing. */
function replay(
  calls: readonly Call[],
  times: GroupTimes,
  slack: Slack,
): string | 'undecided' | undefined {
  const run = new Replay(floatingOf(calls, times, slack));
  const fixed = calls
    .filter(isFixed)
    .flatMap((call) =>
      operationsOf(call, -1, () => []).map((operation) => ({
        operation,
        position: positionOf(call.place),
      })),
    )
    .sort((a, b) => a.position - b.position);
  try {
    for (const { operation, position } of fixed) run.take(operation, position);
    run.end();
  } catch (stop) {
    if (stop instanceof TooManyWays) return 'undecided';
    if (stop instanceof NoWay) return stop.message;
    throw stop;
  }
  return undefined;
}

const isFixed = (call: Call): call is PlacedCall =>
  isPlaced(call) && call.place.index === call.place.upTo;

function floatingOf(calls: readonly Call[], times: GroupTimes, slack: Slack): readonly Floating[] {
  const members = membersOf(calls);
  const found: Omit<Floating, 'number'>[] = [];
  const between = ({ invokedMs, returnedMs }: Operation<Keyspace>) => {
    const [before, behind] = [times.lastBefore(invokedMs), times.firstBehind(returnedMs)];
    return {
      floor: before === undefined ? 0 : positionOf(before.place),
      ceiling: behind === undefined ? Number.POSITIVE_INFINITY : positionOf(behind.place),
    };
  };
  calls.forEach((call, at) => {
    for (const operation of deadlines(call, slack)) {
      found.push({ operation, ...between(operation), kind: 'deadline' });
    }
    if (isFixed(call) || (call.reply === undefined && isRead(call))) return;
    for (const operation of operationsOf(call, at, members)) {
      const kind = call.reply === undefined ? 'may' : 'must';
      const { place } = call;
      const range = isPlaced(call) && {
        floor: positionOf({ index: place!.index, at: -1 }),
        ceiling: positionOf({ index: place!.upTo, at: -1 }),
      };
      found.push({ operation, ...between(operation), ...range, kind });
    }
  });
  return found.map((one, number) => ({ number, ...one }));
}

class NoWay extends Error {}
class TooManyWays extends Error {}

/** All ways at once, from one place in the log to the next. */
class Replay {
  /** Not reached yet, the nearest last. */
  readonly #ahead: Floating[];
  #open: Floating[] = [];
  #ways: readonly Way[] = [{ state: new Keyspace(), used: new Set() }];

  constructor(floating: readonly Floating[]) {
    this.#ahead = [...floating].sort((a, b) => b.floor - a.floor);
  }

  /** What stands at this position takes effect; positions do not fall. */
  take(operation: Operation<Keyspace>, position: number): void {
    this.#float(position);
    const before = this.#ways;
    this.#ways = before.flatMap(({ state, used }) => {
      const next = operation.step(state);
      return next === undefined ? [] : [{ state: next, used }];
    });
    if (this.#ways.length === 0) {
      throw new NoWay(
        `at ${showPosition(position)} ${operation.label} does not fit ${states(before)}`,
      );
    }
  }

  end(): void {
    this.#float(Number.POSITIVE_INFINITY);
  }

  #float(position: number): void {
    while (this.#ahead.length > 0 && this.#ahead.at(-1)!.floor < position) {
      this.#open.push(this.#ahead.pop()!);
    }
    if (this.#open.length === 0) return;
    this.#ways = follow(this.#ways, this.#open);
    const over = this.#open.filter(({ ceiling }) => ceiling <= position);
    if (over.length === 0) return;
    this.#open = this.#open.filter(({ ceiling }) => ceiling > position);
    for (const one of over) this.#close(one, position);
  }

  /** Nothing later may be before it. */
  #close({ kind, number, operation }: Floating, position: number): void {
    const before = this.#ways;
    const without = ({ state, used }: Way): Way => ({
      state,
      used: new Set([...used].filter((one) => one !== number)),
    });
    if (kind === 'deadline') {
      this.#ways = before.map((way) => ({ ...way, state: operation.step(way.state)! }));
    } else if (kind === 'may') this.#ways = before.map(without);
    else this.#ways = before.filter(({ used }) => used.has(number)).map(without);
    if (this.#ways.length > 0) return;
    throw new NoWay(
      `before ${showPosition(position)} ${operation.label} does not fit ${states(before)}`,
    );
  }
}

/** With every choice of the open ones, in every order. */
function follow(ways: readonly Way[], open: readonly Floating[]): readonly Way[] {
  const kept = new Ways(open);
  const left: Way[] = [];
  const add = (way: Way) => {
    const settled = settle(way, open);
    if (kept.add(settled)) left.push(settled);
  };
  for (const way of ways) add(way);
  for (let way = left.pop(); way !== undefined; way = left.pop()) {
    for (const { number, kind, operation } of open) {
      if (way.used.has(number)) continue;
      const state = operation.step(way.state);
      if (state === undefined || state === way.state) continue;
      add({ state, used: kind === 'deadline' ? way.used : new Set([...way.used, number]) });
    }
  }
  return kept.all;
}

/** What must take effect, and may without changing anything, does: nothing is lost by it. */
function settle({ state, used }: Way, open: readonly Floating[]): Way {
  const now = open.filter(
    ({ number, kind, operation }) =>
      kind === 'must' && !used.has(number) && operation.step(state) === state,
  );
  return now.length === 0
    ? { state, used }
    : { state, used: new Set([...used, ...now.map(({ number }) => number)]) };
}

/** Of ways to one state that have done what they must, those that used the fewest others. */
class Ways {
  readonly #must: ReadonlySet<number>;
  readonly #alike = new Map<string, Way[]>();
  #count = 0;

  constructor(open: readonly Floating[]) {
    this.#must = new Set(open.filter(({ kind }) => kind === 'must').map(({ number }) => number));
  }

  get all(): readonly Way[] {
    return [...this.#alike.values()].flat();
  }

  /** False when another can do all that it can. */
  add(way: Way): boolean {
    const must = [...way.used].filter((number) => this.#must.has(number));
    const name = `${way.state.text} | ${must.sort((a, b) => a - b).join(' ')}`;
    const alike = this.#alike.get(name) ?? [];
    if (alike.some(({ used }) => isWithin(used, way.used))) return false;
    const left = alike.filter(({ used }) => !isWithin(way.used, used));
    this.#alike.set(name, [...left, way]);
    this.#count += 1 + left.length - alike.length;
    if (this.#count > WAYS_MAX) throw new TooManyWays();
    return true;
  }
}

function isWithin(some: ReadonlySet<number>, all: ReadonlySet<number>): boolean {
  return some.size <= all.size && [...some].every((one) => all.has(one));
}

function states(ways: readonly Way[]): string {
  const texts = ways.slice(0, 3).map(({ state }) => `{${state.text.slice(0, 400)}}`);
  return ways.length > 3 ? `${texts.join(', ')} and ${ways.length - 3} more` : texts.join(', ');
}
