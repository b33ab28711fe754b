/**
 * Is a history of one key linearizable? The search of Wing & Gong with Lowe's memory: calls are
 * tried in every order their times allow, and no pair of (calls done, state) is tried twice.
 * An unknown outcome may take effect at any time after its call, or never.
 */
export interface Operation<State> {
  readonly label: string;
  readonly invokedMs: number;
  /** Infinity when the outcome is unknown. */
  readonly returnedMs: number;
  /** The state after it took effect, or undefined when its reply does not fit the state. */
  step(state: State): State | undefined;
}

export type Verdict = 'yes' | 'no' | 'undecided';

const STEPS_MAX = 400_000;

/** `stateKey` tells states apart; `undecided` when the search is too long. */
export function isLinearizable<State>(
  operations: readonly Operation<State>[],
  initial: State,
  stateKey: (state: State) => string,
): Verdict {
  const inOrder = [...operations].sort((a, b) => a.invokedMs - b.invokedMs);
  // what is not known to have happened is tried last: else each subset of it would be
  const known = inOrder.filter(({ returnedMs }) => returnedMs !== Number.POSITIVE_INFINITY);
  const unknown = inOrder.filter(({ returnedMs }) => returnedMs === Number.POSITIVE_INFINITY);
  const search = new Search(known, unknown, stateKey);
  return search.run(initial);
}

class Search<State> {
  /** Known outcomes in the order of their calls, then the others in theirs. */
  readonly #calls: readonly Operation<State>[];
  readonly #known: number;
  readonly #stateKey: (state: State) => string;
  readonly #done: boolean[];
  readonly #seen = new Set<string>();
  #left: number;
  #steps = 0;

  constructor(
    known: readonly Operation<State>[],
    unknown: readonly Operation<State>[],
    stateKey: (state: State) => string,
  ) {
    this.#calls = [...known, ...unknown];
    this.#known = known.length;
    this.#stateKey = stateKey;
    this.#done = this.#calls.map(() => false);
    this.#left = known.length;
  }

  run(initial: State): Verdict {
    const stack: { readonly call: number; readonly before: State; next: number }[] = [];
    let state = initial;
    let from = 0;
    while (this.#left > 0) {
      if (++this.#steps > STEPS_MAX) return 'undecided';
      const found = this.#try(state, from);
      if (found !== undefined) {
        stack.push({ call: found.call, before: state, next: found.call + 1 });
        this.#mark(found.call, true);
        state = found.state;
        from = 0;
        continue;
      }
      const last = stack.pop();
      if (last === undefined) return 'no';
      this.#mark(last.call, false);
      state = last.before;
      from = last.next;
    }
    return 'yes';
  }

  /** The first call from `from` on that may come next and leads somewhere new. */
  #try(state: State, from: number): { readonly call: number; readonly state: State } | undefined {
    const deadlineMs = this.#earliestReturn();
    for (let call = from; call < this.#calls.length; call++) {
      const candidate = this.#calls[call]!;
      if (candidate.invokedMs > deadlineMs) {
        if (call >= this.#known) return undefined;
        call = this.#known - 1; // the others of these are later still
        continue;
      }
      if (this.#done[call]) continue;
      const next = candidate.step(state);
      if (next === undefined) continue;
      if (this.#isNew(call, next)) return { call, state: next };
    }
    return undefined;
  }

  /** No call may come after another has returned that is not done. */
  #earliestReturn(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (let at = 0; at < this.#known; at++) {
      const call = this.#calls[at]!;
      if (!this.#done[at]) earliest = Math.min(earliest, call.returnedMs);
      if (call.invokedMs > earliest) break;
    }
    return earliest;
  }

  #isNew(call: number, state: State): boolean {
    this.#done[call] = true;
    let first = 0;
    while (first < this.#done.length && this.#done[first]) first++;
    let key = `${first}:${this.#stateKey(state)}:`;
    for (let at = first; at < this.#done.length; at++) if (this.#done[at]) key += `${at},`;
    this.#done[call] = false;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }

  #mark(call: number, done: boolean): void {
    this.#done[call] = done;
    if (call < this.#known) this.#left += done ? -1 : 1;
  }
}
