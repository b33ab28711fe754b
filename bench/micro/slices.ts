/**
 * The time of one command as the least of many short slices. Neighbours on the machine, the kernel
 * and the collector can only make a slice longer; what the code costs is what the shortest shows.
 */
import type { Micro } from './micro.ts';

export interface Slices {
  /** The least over all slices, nanoseconds of one command. */
  readonly leastNs: number;
  readonly medianNs: number;
  readonly slices: number;
}

/** Long enough for the clock, short enough to fit between two interruptions. */
const SLICE_MS = 3;
const SLICES_MIN = 20;
/** What V8 has not compiled yet is not measured. */
const WARM_SHARE = 0.3;

/** Measures for about `seconds`, after a part of them to become warm. */
export async function measureSlices(micro: Micro, seconds: number): Promise<Slices> {
  const work = await micro.prepare();
  const nsOf = async (commands: number) => {
    const began = performance.now();
    const done = await work(commands);
    return ((performance.now() - began) * 1e6) / done;
  };
  const warmUntil = performance.now() + seconds * 1_000 * WARM_SHARE;
  let commands = 64;
  let ns = await nsOf(commands);
  while (performance.now() < warmUntil) {
    ns = Math.min(ns, await nsOf(commands));
    commands = Math.max(64, Math.round((SLICE_MS * 1e6) / ns));
  }
  const all: number[] = [];
  const until = performance.now() + seconds * 1_000 * (1 - WARM_SHARE);
  while (performance.now() < until || all.length < SLICES_MIN) all.push(await nsOf(commands));
  all.sort((a, b) => a - b);
  return { leastNs: all[0]!, medianNs: all[all.length >> 1]!, slices: all.length };
}
