/**
 * One listener per signal, however many calls share it: Node.js warns of a leak when a signal has more
 * than ten. So many at a time hear that it aborts: the others in the turns that follow, since what
 * many calls come to takes a second or two.
 */
import { systemClock } from '../common/clock.ts';

const TURN_MAX = 256;

const listeners = new WeakMap<
  AbortSignal,
  { readonly tell: () => void; readonly all: Set<() => void> }
>();

/** Calls `listener` once when `signal` aborts, unless the result is called before. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let own = listeners.get(signal);
  if (own === undefined) {
    const all = new Set<() => void>();
    const tell = () => {
      listeners.delete(signal);
      tellSome(all.values());
    };
    own = { tell, all };
    listeners.set(signal, own);
    signal.addEventListener('abort', tell, { once: true });
  }
  const { tell, all } = own;
  all.add(listener);
  return () => {
    all.delete(listener);
    if (all.size > 0 || listeners.get(signal)?.all !== all) return;
    listeners.delete(signal);
    signal.removeEventListener('abort', tell);
  };
}

function tellSome(left: Iterator<() => void>): void {
  for (let told = 0; told < TURN_MAX; told++) {
    const { done, value } = left.next();
    if (done) return;
    value();
  }
  systemClock.endOfTurn(() => tellSome(left));
}
