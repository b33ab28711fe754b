/**
 * What ran in one turn of this thread's event loop: V8's profiler looks at the stack all the while,
 * and of what it saw only that turn is told.
 */
import { type Profiler, Session } from 'node:inspector/promises';
import type { Turn } from './turns.ts';

const SAMPLE_MICROSECONDS = 100;
const STACKS_MAX = 12;
const FRAMES_MAX = 7;

/** Begins; what it gives back ends it, and tells the stacks of `turn`, the longest ones first. */
export async function startProfile(): Promise<(turn: Turn | undefined) => Promise<string[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
  await session.post('Profiler.start');
  return async (turn) => {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    return turn === undefined ? [] : stacksOf(profile, turn);
  };
}

/** V8's times are the system's monotonic clock in microseconds, as `process.hrtime` is. */
function microsecondsOf(atMs: number): number {
  const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return (originMs + atMs) * 1_000;
}

function stacksOf(profile: Profiler.Profile, { fromMs, toMs }: Turn): string[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const { id, children } of profile.nodes)
    for (const child of children ?? []) parents.set(child, id);
  const nameOf = (id: number) => {
    const { functionName, url, lineNumber } = nodes.get(id)!.callFrame;
    const file = url.split('/').at(-1)!;
    return file === '' ? functionName : `${functionName || '-'}@${file}:${lineNumber + 1}`;
  };
  const stackOf = (leaf: number) => {
    const frames: string[] = [];
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      if (frames.push(nameOf(id)) === FRAMES_MAX) break;
    }
    return frames.join(' < ');
  };
  const [from, to] = [microsecondsOf(fromMs), microsecondsOf(toMs)];
  const spent = new Map<string, number>();
  let at = profile.startTime;
  profile.samples?.forEach((id, index) => {
    const delta = profile.timeDeltas?.[index] ?? 0;
    at += delta;
    if (at < from || at > to) return;
    const stack = stackOf(id);
    spent.set(stack, (spent.get(stack) ?? 0) + Math.min(delta, at - from));
  });
  const longest = [...spent].sort(([, a], [, b]) => b - a).slice(0, STACKS_MAX);
  return longest.map(([stack, us]) => `${(us / 1_000).toFixed(1)} ms ${stack}`);
}
