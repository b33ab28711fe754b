/** Where what somebody asked for is to go: whoever makes it looks first. */
export interface Room {
  /** What was made is not taken: nothing more is to be made of which nobody knows how large it is. */
  readonly isFull: boolean;
  /** What is known to be large may be made now, between `begin` and `end`. */
  readonly mayBeginLarge: boolean;
  /** Nobody takes anything any more. */
  readonly isGone: boolean;
  begin(): void;
  end(): void;
  /** Calls `run` once, when large things may be made or whoever asked has gone; one after the other. */
  onceFree(run: () => void): void;
}
