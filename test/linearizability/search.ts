/**
 * Is a history linearizable? The search of Wing & Gong with Lowe's memory: calls are tried in every
 * order their times allow, and nothing is tried twice from one state with the same calls done.
 *
 * Intervals are closed: a call that begins when another returns is concurrent with it. Calls whose
 * outcome is unknown are tried last and never have to be done; of two ways to one state that differ
 * in them, the one that used fewer can do whatever the other can, so the other is dropped.
 *
 * A delayed effect is a choice while it would change the state, and nothing may begin behind its last
 * moment before it was taken. One that would not is over, and never a choice: it changes nothing ever
 * again, and any order of the calls has a moment for it, behind its operation and within its time.
 * Which are live follows from the calls done and the state, so what is remembered does not name them.
 *
 * Time is linear in the length of a history as long as few calls overlap and few outcomes are
 * unknown; both are bounded, and beyond the bounds the answer is `undecided`.
 */
import {
  type Bounds,
  type DelayedEffect,
  defaultBounds,
  type Finding,
  type Operation,
  type Verdict,
} from './operation.ts';

/** `stateKey` tells states apart. */
export function isLinearizable<State>(
  operations: readonly Operation<State>[],
  initial: State,
  stateKey: (state: State) => string,
  bounds: Bounds = defaultBounds,
): Verdict {
  return findOrder(operations, initial, stateKey, bounds).verdict;
}

/** The same, with what a person needs to know of a verdict that is not `yes`. */
export function findOrder<State>(
  operations: readonly Operation<State>[],
  initial: State,
  stateKey: (state: State) => string,
  bounds: Bounds = defaultBounds,
): Finding {
  return new Search(operations, stateKey, bounds).run(initial);
}

/** Ways to one state with the same known calls done, by the unknown ones that each has used. */
interface Ways {
  readonly all: Set<string>;
  /** Some of them: to compare with all would take longer than to try again what another way covers. */
  readonly compared: (readonly number[])[];
}

const COMPARED_MAX = 16;

interface Node<State> {
  readonly state: State;
  /** Of calls that are done; each of them would change the state. */
  readonly live: readonly DelayedEffect<State>[];
}

/** The choice is the number of a call, or behind them all that of an effect live before. */
interface Frame<State> {
  readonly choice: number;
  readonly before: Node<State>;
}

interface Found<State> {
  readonly choice: number;
  readonly node: Node<State>;
}

class Search<State> {
  /** Known outcomes in the order of their calls, then the others in theirs. */
  readonly #calls: readonly Operation<State>[];
  readonly #known: number;
  readonly #stateKey: (state: State) => string;
  readonly #bounds: Bounds;
  readonly #done: Uint8Array;
  /** Unknown outcomes: the one of the same kind that is to be taken before, or -1. */
  readonly #before: Int32Array;
  /** By known calls done and state. */
  readonly #seen = new Map<string, Ways>();
  readonly #used: number[] = [];
  #memory = 0;
  /** Calls that were looked at as the next one. */
  #tries = 0;
  #first = 0;
  #left: number;
  #deepest = { left: Number.POSITIVE_INFINITY, first: 0, stuck: [] as string[], state: '' };

  constructor(
    operations: readonly Operation<State>[],
    stateKey: (state: State) => string,
    bounds: Bounds,
  ) {
    const inOrder = [...operations].sort((a, b) => a.invokedMs - b.invokedMs);
    const known = inOrder.filter(({ returnedMs }) => returnedMs !== Number.POSITIVE_INFINITY);
    const unknown = inOrder.filter(({ returnedMs }) => returnedMs === Number.POSITIVE_INFINITY);
    this.#calls = [...known, ...unknown];
    this.#known = known.length;
    this.#left = known.length;
    this.#stateKey = stateKey;
    this.#bounds = bounds;
    this.#done = new Uint8Array(this.#calls.length);
    this.#before = sameKindBefore(this.#calls, this.#known);
  }

  run(initial: State): Finding {
    const stack: Frame<State>[] = [];
    let node: Node<State> = { state: initial, live: [] };
    let from = this.#first;
    while (this.#left > 0) {
      if (this.#isSpent()) return this.#tooLarge(`${this.#tries} orders were tried`);
      if (this.#memory > this.#bounds.memoryMax) return this.#tooLarge('the memory is full');
      const found = this.#tryCalls(node, from) ?? this.#tryDelayed(node, from);
      if (found !== undefined) {
        stack.push({ choice: found.choice, before: node });
        this.#mark(found.choice);
        node = found.node;
        from = this.#first;
        continue;
      }
      this.#noteDeepest(node);
      const last = stack.pop();
      if (last === undefined) return this.#no();
      this.#unmark(last.choice);
      node = last.before;
      from = last.choice + 1;
    }
    return { verdict: 'yes' };
  }

  /** The first call from `from` on that may come next and leads somewhere new. */
  #tryCalls({ state, live }: Node<State>, from: number): Found<State> | undefined {
    const deadlineMs = this.#earliestReturn(live);
    for (let call = from; call < this.#calls.length && !this.#isSpent(); call++) {
      const candidate = this.#calls[call]!;
      if (candidate.invokedMs > deadlineMs) {
        if (call >= this.#known) return undefined;
        call = this.#known - 1; // the others of these are later still
        continue;
      }
      if (this.#done[call] === 1) continue;
      const before = this.#before[call]!;
      if (before >= 0 && this.#done[before] === 0) continue;
      this.#tries++;
      const next = candidate.step(state);
      if (next === undefined || !this.#isNew(call, next)) continue;
      const { delayed = [] } = candidate;
      return { choice: call, node: nodeOf(next, [...live, ...delayed]) };
    }
    return undefined;
  }

  /** The same of delayed effects. */
  #tryDelayed({ state, live }: Node<State>, from: number): Found<State> | undefined {
    if (live.length === 0) return undefined;
    const deadlineMs = this.#earliestReturn(live);
    const calls = this.#calls.length;
    for (let at = Math.max(0, from - calls); at < live.length && !this.#isSpent(); at++) {
      const candidate = live[at]!;
      if (candidate.invokedMs > deadlineMs) continue;
      this.#tries++;
      const next = candidate.step(state);
      if (this.#isNew(calls + at, next)) return { choice: calls + at, node: nodeOf(next, live) };
    }
    return undefined;
  }

  /** Nothing may come after a call has returned that is not done, or a delayed effect was due. */
  #earliestReturn(live: readonly DelayedEffect<State>[]): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { returnedMs } of live) earliest = Math.min(earliest, returnedMs);
    for (let at = this.#first; at < this.#known; at++) {
      const call = this.#calls[at]!;
      if (call.invokedMs > earliest) break;
      if (this.#done[at] === 0) earliest = Math.min(earliest, call.returnedMs);
    }
    return earliest;
  }

  #isNew(choice: number, state: State): boolean {
    this.#mark(choice);
    let key = `${this.#first}`;
    for (let at = this.#first, left = this.#doneBeyond(); left > 0; at++) {
      if (this.#done[at] === 0) continue;
      key += `,${at - this.#first}`;
      left--;
    }
    key += `:${this.#stateKey(state)}`;
    const used = [...this.#used];
    this.#unmark(choice);
    return this.#isNewWay(key, used);
  }

  /** False when one that used no other unknown calls than `used` was tried. */
  #isNewWay(key: string, used: readonly number[]): boolean {
    const way = used.join();
    const ways = this.#seen.get(key);
    if (ways === undefined) {
      this.#seen.set(key, { all: new Set([way]), compared: [used] });
      this.#memory += key.length + way.length + 128;
      return true;
    }
    if (ways.all.has(way) || ways.compared.some((set) => isSubset(set, used))) return false;
    ways.all.add(way);
    this.#memory += way.length + 32;
    if (ways.compared.length < COMPARED_MAX) ways.compared.push(used);
    return true;
  }

  #isSpent(): boolean {
    return this.#tries >= this.#bounds.stepsMax;
  }

  /** Known calls that are done behind the first that is not. */
  #doneBeyond(): number {
    return this.#known - this.#left - this.#first;
  }

  #mark(call: number): void {
    if (call >= this.#calls.length) return;
    this.#done[call] = 1;
    if (call >= this.#known) {
      insert(this.#used, call);
      return;
    }
    this.#left--;
    while (this.#first < this.#known && this.#done[this.#first] === 1) this.#first++;
  }

  #unmark(call: number): void {
    if (call >= this.#calls.length) return;
    this.#done[call] = 0;
    if (call >= this.#known) {
      this.#used.splice(this.#used.indexOf(call), 1);
      return;
    }
    this.#left++;
    if (call < this.#first) this.#first = call;
  }

  #noteDeepest({ state, live }: Node<State>): void {
    if (this.#left >= this.#deepest.left) return;
    const deadlineMs = this.#earliestReturn(live);
    const stuck: string[] = [];
    for (let at = this.#first; at < this.#known && stuck.length < 8; at++) {
      const { invokedMs, label } = this.#calls[at]!;
      if (invokedMs > deadlineMs) break;
      if (this.#done[at] === 0) stuck.push(label);
    }
    this.#deepest = { left: this.#left, first: this.#first, stuck, state: this.#stateKey(state) };
  }

  #no(): Finding {
    const { left, stuck, state } = this.#deepest;
    return { verdict: 'no', explained: this.#known - left, stuck, state };
  }

  #tooLarge(what: string): Finding {
    const at = Math.min(this.#deepest.first, Math.max(0, this.#known - 1));
    const splitAtMs = this.#calls[at]?.invokedMs ?? 0;
    const during = this.#calls.filter(
      ({ invokedMs, returnedMs }) => invokedMs <= splitAtMs && returnedMs >= splitAtMs,
    );
    const unknown = during.filter(({ returnedMs }) => returnedMs === Number.POSITIVE_INFINITY);
    const why =
      `too large: ${what}; split it at ${splitAtMs.toFixed(1)}, where ${during.length} calls ` +
      `overlap, ${unknown.length} of them with an unknown outcome`;
    return { verdict: 'undecided', splitAtMs, why };
  }
}

function nodeOf<State>(state: State, delayed: readonly DelayedEffect<State>[]): Node<State> {
  return { state, live: delayed.filter((one) => one.step(state) !== state) };
}

function sameKindBefore<State>(calls: readonly Operation<State>[], known: number): Int32Array {
  const before = new Int32Array(calls.length).fill(-1);
  const last = new Map<string, number>();
  for (let at = known; at < calls.length; at++) {
    const { kind } = calls[at]!;
    if (kind === undefined) continue;
    before[at] = last.get(kind) ?? -1;
    last.set(kind, at);
  }
  return before;
}

/** Both ascend. */
function isSubset(part: readonly number[], whole: readonly number[]): boolean {
  let at = 0;
  for (const one of part) {
    while (at < whole.length && whole[at]! < one) at++;
    if (at === whole.length || whole[at] !== one) return false;
    at++;
  }
  return true;
}

function insert(ascending: number[], one: number): void {
  let at = ascending.length;
  while (at > 0 && ascending[at - 1]! > one) at--;
  ascending.splice(at, 0, one);
}
