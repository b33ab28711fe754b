/** A clock that only the test moves, and turns of the real event loop, counted. */

/** Microtasks in between are no turns: a turn ends when nothing is left to do in it. */
export function handClock() {
  let ends: (() => void)[] = [];
  return {
    ms: 0,
    turns: 0,
    monotonicMs() {
      return this.ms;
    },
    endOfTurn(run: () => void) {
      ends.push(run);
      if (ends.length > 1) return;
      setImmediate(() => {
        this.turns++;
        const due = ends;
        ends = [];
        for (const each of due) each();
      });
    },
  };
}
