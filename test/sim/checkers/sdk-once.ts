/**
 * Each element is pushed by one call and no other: one that was acknowledged is in its list exactly
 * once, one that was refused is not, and one of which nobody knows is there once at most. Counters
 * that only INCR changes stand between what was acknowledged and that with what is not known.
 */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { type Call, textOf } from '../call.ts';
import { Violation } from './checker.ts';

export interface Push {
  readonly key: string;
  readonly element: string;
  readonly outcome: 'done' | 'refused' | 'unknown';
}

/** `left`: what the keys hold in the end. Throws Violation. */
export function checkPushes(pushes: readonly Push[], left: ReadonlyMap<string, Reply>): void {
  const found = new Map<string, number>();
  for (const [key, reply] of left) {
    if (reply.kind !== 'array') continue;
    for (const item of reply.items) {
      const name = `${key} ${textOf(item)}`;
      found.set(name, (found.get(name) ?? 0) + 1);
    }
  }
  for (const { key, element, outcome } of pushes) {
    const count = found.get(`${key} ${element}`) ?? 0;
    if (count > 1) throw new Violation('sdk once', `${element} is ${count} times in ${key}`);
    if (count === 0 && outcome === 'done') {
      throw new Violation('sdk once', `${element} was pushed to ${key} and is not there`);
    }
    if (count > 0 && outcome === 'refused') {
      throw new Violation('sdk once', `${element} is in ${key}, though its push was refused`);
    }
  }
}

/** Of keys that nothing but INCR writes. Throws Violation. */
export function checkCounts(history: readonly Call[], left: ReadonlyMap<string, Reply>): void {
  const counts = new Map<string, { told: Set<string>; unknown: number }>();
  for (const { words, reply } of history) {
    const [name, key = ''] = words;
    if (name !== 'INCR') continue;
    const count = counts.get(key) ?? { told: new Set(), unknown: 0 };
    counts.set(key, count);
    if (reply === undefined) {
      count.unknown++;
      continue;
    }
    const value = textOf(reply);
    if (count.told.has(value)) {
      throw new Violation('sdk once', `two calls were told that ${key} is ${value} by theirs`);
    }
    count.told.add(value);
  }
  for (const [key, { told, unknown }] of counts) {
    const reply = left.get(key);
    if (reply === undefined) continue;
    const value = reply.kind === 'null' ? 0 : Number(textOf(reply));
    if (told.size <= value && value <= told.size + unknown) continue;
    const text = `${key} is ${value}: ${told.size} INCR were acknowledged, of ${unknown} nobody knows`;
    throw new Violation('sdk once', text);
  }
}
