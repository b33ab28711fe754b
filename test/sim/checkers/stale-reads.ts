/**
 * Reads at follower-read ports may be old, but no older than the bound: the value was the current one
 * at some moment between so long before the request and the answer. A value is too old when whatever
 * may have written it was followed by another acknowledged write that was over before that time
 * began. Counters only grow: theirs is bounded from both sides.
 */
import { type Call, textOf } from '../call.ts';
import { callsByKey } from './calls-by-key.ts';
import { Violation } from './checker.ts';

export interface StaleRead {
  readonly by: string;
  readonly key: string;
  /** Null: there was none. */
  readonly value: string | null;
  readonly invokedMs: number;
  readonly returnedMs: number;
}

/** `value` after it; undefined: it changes nothing that is looked at here. */
interface Write {
  readonly value: string | null;
  readonly invokedMs: number;
  readonly returnedMs: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
const AT_FIRST: Write = { value: null, invokedMs: NEVER, returnedMs: NEVER };

/** `boundMs` on the clock of the history. Throws Violation. */
export function checkStaleReads(
  reads: readonly StaleRead[],
  history: readonly Call[],
  boundMs: number,
): void {
  const calls = callsByKey(history);
  for (const read of reads) {
    const fault = faultOfRead(read, calls.get(read.key) ?? [], boundMs);
    if (fault === undefined) continue;
    const { by, key, value, invokedMs, returnedMs } = read;
    const times = `${invokedMs.toFixed(1)}–${returnedMs.toFixed(1)}`;
    throw new Violation('stale reads', `${times} ${by} GET ${key}: ${value}: ${fault}`);
  }
}

/** What is wrong with it by the calls that are about its key. */
export function faultOfRead(
  read: StaleRead,
  ofKey: readonly Call[],
  boundMs: number,
): string | undefined {
  const counted = ofKey.some(({ words }) => words[0] === 'INCR' || words[0] === 'APPEND');
  return counted ? faultOfGrowing(read, ofKey, boundMs) : faultOf(read, ofKey, boundMs);
}

/** Of a register whose values are written once each. */
function faultOf(read: StaleRead, calls: readonly Call[], boundMs: number): string | undefined {
  const fromMs = read.invokedMs - boundMs;
  const writes = [AT_FIRST, ...calls.flatMap(writesOf)];
  const sources = writes.filter(
    ({ value, invokedMs }) => value === read.value && invokedMs <= read.returnedMs,
  );
  if (sources.length === 0) return 'nobody had written that';
  const over = writes.filter(({ returnedMs }) => returnedMs < fromMs);
  const newest = over.reduce(
    (one, other) => (other.invokedMs > one.invokedMs ? other : one),
    AT_FIRST,
  );
  if (sources.some(({ returnedMs }) => returnedMs >= newest.invokedMs)) return undefined;
  const since = newest.returnedMs.toFixed(1);
  return `${newest.value} had taken its place by ${since}, more than ${boundMs.toFixed(0)} ms before`;
}

function writesOf({ words, invokedMs, returnedMs }: Call): Write[] {
  const [name, , value = '', after = ''] = words;
  if (name === 'SET') return [{ value, invokedMs, returnedMs }];
  if (name === 'CAS') return [{ value: after, invokedMs, returnedMs }];
  return name === 'DEL' ? [{ value: null, invokedMs, returnedMs }] : [];
}

/** Of a counter, or of a text that is appended to, by its length. */
function faultOfGrowing(
  read: StaleRead,
  calls: readonly Call[],
  boundMs: number,
): string | undefined {
  const appended = calls.some(({ words }) => words[0] === 'APPEND');
  const sizeOf = (text: string | null) =>
    text === null ? 0 : appended ? text.length : Number(text);
  const size = sizeOf(read.value);
  const fromMs = read.invokedMs - boundMs;
  let least = 0;
  let most = 0;
  for (const { words, invokedMs, returnedMs, reply } of calls) {
    const [name, , value = ''] = words;
    const known = reply !== undefined && returnedMs < fromMs;
    if (known && reply.kind === 'integer') least = Math.max(least, Number(reply.value));
    if (known && reply.kind === 'bulk') least = Math.max(least, sizeOf(textOf(reply)));
    if (invokedMs > read.returnedMs) continue;
    if (name === 'INCR') most++;
    if (name === 'APPEND') most += value.length;
  }
  if (size > most) return `it cannot have been more than ${most} yet`;
  if (size >= least) return undefined;
  return `it was ${least} already more than ${boundMs.toFixed(0)} ms before`;
}
