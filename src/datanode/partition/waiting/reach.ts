/**
 * Which keys an entry may change by serving the clients it carries (`serving.ts`), beside those that
 * its commands name: what they take from, and what they move it to.
 */
import type { BlockingForm } from '../../commands/rows/command.ts';
import type { CommandLine } from '../entries/batch.ts';
import { fillAnyKey, fillsOf } from './fills.ts';

export interface Carried {
  readonly form: Pick<BlockingForm, 'keys' | 'fills'>;
  /** It runs as it was sent, and at the end of the entry should nothing come for it. */
  readonly asked: boolean;
}

const nameOf = (key: Buffer) => key.toString('latin1');

/**
 * Keys, as latin1, that serving `waiters` may change when `filled` (the same) may have got elements.
 * `ended`: the whole entry is meant; else only what comes before its end.
 */
export function reachOf(
  waiters: Iterable<Carried>,
  filled: Iterable<string>,
  ended: boolean,
): ReadonlySet<string> {
  const open = new Set(filled);
  const reached = new Set<string>();
  const left = new Set(waiters);
  for (let size = -1; size < open.size; ) {
    size = open.size;
    for (const waiter of left) {
      const { keys, fills } = waiter.form;
      const names = keys.map(nameOf);
      const met = names.filter((name) => open.has(name));
      if (met.length === 0 && !(waiter.asked && ended)) continue;
      for (const name of waiter.asked ? names : met) reached.add(name);
      if (waiter.asked || met.length === names.length) left.delete(waiter);
      if (fills === undefined) continue;
      reached.add(nameOf(fills));
      open.add(nameOf(fills));
    }
  }
  return reached;
}

/** What an entry carries; `filled`: see `reachOf`. */
export interface Load {
  readonly waiters: Iterable<Carried>;
  readonly fills: ReadonlyMap<string, number>;
}

/**
 * What clients may have changed before a command of an entry that carries `own`: those whom the
 * entries before it (`earlier`) serve, and those for whom the commands `before` it have something.
 */
export function servedBefore(
  earlier: readonly Load[],
  own: Load,
  before: readonly CommandLine[],
): ReadonlySet<string> {
  const reached = new Set<string>();
  for (const { waiters, fills } of earlier) {
    for (const key of reachOf(waiters, fills.keys(), true)) reached.add(key);
  }
  for (const key of reachOf(own.waiters, filledBy(before, own.waiters), false)) reached.add(key);
  return reached;
}

/** A script may fill whatever somebody waits for. */
function filledBy(before: readonly CommandLine[], waiters: Iterable<Carried>): Iterable<string> {
  const filled = new Set(fillsOf(before).keys());
  if (!fillAnyKey(before)) return filled;
  for (const { form } of waiters) for (const key of form.keys) filled.add(nameOf(key));
  return filled;
}
