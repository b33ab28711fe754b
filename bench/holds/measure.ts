/** One command's longest hold of the event loop it shares with the client that sends it. */
import { type Held, nameOf } from './commands.ts';
import { encode, type ForgetfulClient } from './forgetful-client.ts';
import { type Turn, Turns } from './turns.ts';

/** Each the least of all runs, in milliseconds. */
export interface Hold {
  readonly name: string;
  /** Beginning of the reply, and what of it tells how many elements there were. */
  readonly reply: string;
  readonly runs: number;
  /** CPU time of the longest turn without the garbage collector, and with it. */
  readonly ownMs: number;
  readonly cpuMs: number;
  /** The longest turn by the clock. */
  readonly wallMs: number;
  /** From the request to the end of the reply, and the CPU time of its turns of a millisecond and more. */
  readonly totalMs: number;
  readonly totalCpuMs: number;
  /** The longest turn of the last run. */
  readonly longest: Turn | undefined;
  /** What ran in it, if that was asked for: milliseconds of each stack, by the clock. */
  readonly stacks?: readonly string[];
}

export interface Runs {
  readonly min: number;
  /** A longest turn above `enoughMs` is run again, so often at most: it tells of the command or of the machine. */
  readonly max: number;
  readonly enoughMs: number;
  /** No further run is begun then, if there was a good one by `limitMs`. */
  readonly runningMs: number;
  readonly limitMs: number;
}

/** What is done before the command is not measured. */
export async function measureHold(
  client: ForgetfulClient,
  held: Held,
  { min, max, enoughMs, runningMs, limitMs }: Runs,
): Promise<Hold> {
  let longest: Turn | undefined;
  let least: Omit<Hold, 'name' | 'reply' | 'runs' | 'longest'> = {
    ...{ ownMs: Infinity, cpuMs: Infinity, wallMs: Infinity },
    ...{ totalMs: Infinity, totalCpuMs: Infinity },
  };
  let runs = 0;
  const endsMs = performance.now() + runningMs;
  for (; runs < max; runs++) {
    const isEnough = runs >= min && least.ownMs < enoughMs;
    const isLate = runs > 0 && least.ownMs < limitMs && performance.now() > endsMs;
    if (isEnough || isLate) break;
    if (held.before.length > 0) await client.call(...held.before);
    const request = encode(held.lines);
    const turns = new Turns();
    turns.start();
    const began = performance.now();
    await client.send(request);
    const totalMs = performance.now() - began;
    await turns.stop();
    longest = turns.longest;
    least = {
      ownMs: Math.min(least.ownMs, turns.longestOwnMs),
      cpuMs: Math.min(least.cpuMs, turns.longestMs),
      wallMs: Math.min(least.wallMs, turns.longestWallMs),
      totalMs: Math.min(least.totalMs, totalMs),
      totalCpuMs: Math.min(least.totalCpuMs, turns.workedMs),
    };
  }
  return { name: nameOf(held), reply: client.head.split('\r\n')[0] ?? '', runs, ...least, longest };
}

/** A line of a table. */
export function lineOf({ ownMs, cpuMs, wallMs, totalMs, totalCpuMs, name, reply }: Hold): string {
  const turn = [ownMs, cpuMs, wallMs].map((ms) => `${ms.toFixed(1).padStart(7)} ms`).join(' ');
  return `${turn}  of ${totalMs.toFixed(0).padStart(6)} ms (CPU ${totalCpuMs.toFixed(0)})  ${name} → ${reply.slice(0, 40)}`;
}

export const HEAD_LINE = 'longest turn: own CPU, with the collector, wall; of the whole; command';
