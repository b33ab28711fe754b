/** What clients were told of their writes: all that the checker knows of them. */

/** `counter`: written by INCR; `list`: by RPUSH; `register`: by SET, of one client at a time. */
export type KeyKind = 'counter' | 'list' | 'register';

/** The writes to one key, as those who sent them saw them. */
export interface Told {
  readonly kind: KeyKind;
  readonly key: string;
  /**
   * Counter: what each acknowledged INCR answered. List: the elements whose RPUSH was acknowledged,
   * each sent once. Register: the values whose SET was, growing.
   */
  readonly acknowledged: readonly number[];
  /** Writes that may have taken effect once: elements, or values, as above; one number per INCR. */
  readonly unknown: readonly number[];
}
