/** What the search is given, and what it says. Times are of one monotonic clock, in any unit. */

export interface Operation<State> {
  readonly label: string;
  readonly invokedMs: number;
  /** Infinity when the outcome is unknown: it may take effect at any time after its call, or never. */
  readonly returnedMs: number;
  /**
   * Unknown outcomes of one kind do the same to every state: which of them took effect makes no
   * difference. Absent: it is the only one of its kind.
   */
  readonly kind?: string;
  /** What comes of it later by itself, when it has taken effect. */
  readonly delayed?: readonly DelayedEffect<State>[];
  /** The state after it took effect, or undefined when its reply does not fit the state. */
  step(state: State): State | undefined;
}

/**
 * What nobody calls for: it takes effect once, behind the operation that it is of, between two
 * moments, of which the later is not before that operation's return.
 *
 * It is over as soon as it is idle. A state that was reached without its operation it leaves as it is
 * (the same object, or an equal primitive); and if behind its operation it leaves one as it is, such as
 * that which it made itself, so it does with every state that can follow.
 */
export interface DelayedEffect<State> {
  readonly label: string;
  readonly invokedMs: number;
  /** Infinity when the outcome of its operation is unknown: it may take effect at any time, or never. */
  readonly returnedMs: number;
  step(state: State): State;
}

export interface Bounds {
  /** Calls that are looked at as the next one; each costs some microseconds and one `step`. */
  readonly stepsMax: number;
  /** Characters of the states and sets that are remembered. */
  readonly memoryMax: number;
}

export const defaultBounds: Bounds = { stepsMax: 1_000_000, memoryMax: 64 * 1024 * 1024 };

export type Finding =
  | { readonly verdict: 'yes' }
  | {
      readonly verdict: 'no';
      /** The longest beginning of the history that has an order. */
      readonly explained: number;
      /** What then could not take effect, and on what state. */
      readonly stuck: readonly string[];
      readonly state: string;
    }
  | {
      /** The search is too large; a history that is split there may be decided. */
      readonly verdict: 'undecided';
      readonly splitAtMs: number;
      readonly why: string;
    };

export type Verdict = Finding['verdict'];
