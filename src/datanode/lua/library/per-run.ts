/** What a library remembers from one call to the next lives as long as one run of a script. */
import type { Meter } from '../values/function.ts';

/** Libraries are made once, for all scripts; what tells their runs apart is the meter. */
export function perRun<State extends object>(begin: () => State): (meter: Meter) => State {
  const states = new WeakMap<Meter, State>();
  return (meter) => {
    let state = states.get(meter);
    if (state === undefined) {
      state = begin();
      states.set(meter, state);
    }
    return state;
  };
}
