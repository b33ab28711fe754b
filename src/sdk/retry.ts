/**
 * What to do when an attempt did not bring the command's own reply. Pure: the table says what each
 * failure means, `decide` what follows from it.
 *
 * *Not proposed*: the attempt had no effect and never will: any command is sent again.
 * *Outcome unknown*: it may take effect, now or later: sent again are reads, and writes in a
 * session, of which the group keeps the sequence and the reply.
 *
 * *Partial*: what is done would be done again: nothing is sent again.
 */
import type { OwnErrorCode } from './errors.ts';

export const failures = {
  /** `MOVED`: another node leads. */
  moved: { outcome: 'not-proposed', refresh: true, atOnce: true },
  /** `CLUSTERDOWN` and its like: no leader, a stopped node, a table that is old. */
  clusterChanged: { outcome: 'not-proposed', refresh: true, atOnce: false },
  /** `TRYAGAIN`, `LOADING`: later, at the same node. */
  busy: { outcome: 'not-proposed', refresh: false, atOnce: false },
  /** No connection, or it ended before the command was handed to it. */
  unsent: { outcome: 'not-proposed', refresh: true, atOnce: false },
  /** The connection ended after the command was handed to it, before its reply. */
  lost: { outcome: 'unknown', refresh: true, atOnce: false },
  /** `UNKNOWNOUTCOME`: the server itself does not know. */
  unknownOutcome: { outcome: 'unknown', refresh: true, atOnce: false },
  /** `PARTIALOUTCOME`: a gateway's, of a write that some partitions have done, and others never will. */
  partial: { outcome: 'partial', refresh: true, atOnce: false },
  /** The same, where of some partitions nobody knows. */
  partlyUnknown: { outcome: 'partly-unknown', refresh: true, atOnce: false },
  /** `MISCONF`: the node's disk fails, or its data is damaged; it may have done its part before. */
  faulty: { outcome: 'unknown', refresh: true, atOnce: false },
  /** The node has said nothing for the time of an attempt. */
  silent: { outcome: 'unknown', refresh: true, atOnce: true },
  /** `SESSIONLOST`: the group does not know the session, and has not run the command now. */
  sessionLost: { outcome: 'session-lost', refresh: false, atOnce: true },
  /** `DONE`: took effect once; the reply is not kept. */
  done: { outcome: 'done', refresh: false, atOnce: false },
  /** Any other error reply: the command's own. */
  reply: { outcome: 'reply', refresh: false, atOnce: false },
} as const satisfies Record<string, FailureRow>;

interface FailureRow {
  readonly outcome:
    | 'not-proposed'
    | 'unknown'
    | 'partial'
    | 'partly-unknown'
    | 'session-lost'
    | 'done'
    | 'reply';
  /** The table of partitions is looked up at once. */
  readonly refresh: boolean;
  /** The first time it is sent again without a pause. */
  readonly atOnce: boolean;
}

export type Failure = keyof typeof failures;

/** What is known of a command when an attempt has failed. */
export interface Attempted {
  /** `read`: changes nothing. `write` in a session: takes effect once however often it is sent. */
  readonly effect: 'read' | 'write' | 'write-in-session';
  /** The outcome of an earlier attempt is unknown. */
  readonly maybeDone: boolean;
  /** Attempts made, this one included. */
  readonly attempts: number;
  /** Since the call, in milliseconds. */
  readonly elapsedMs: number;
}

export interface RetryLimits {
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
}

export type Decision =
  | {
      readonly do: 'retry';
      readonly afterMs: number;
      readonly refresh: boolean;
      /** Under a new session and sequence: the old session never ran it and never will. */
      readonly newSession: boolean;
    }
  /** `code` undefined: the error reply itself is what the caller gets. */
  | { readonly do: 'fail'; readonly code: OwnErrorCode | undefined; readonly refresh: boolean };

/** `jitter`: uniform in [0, 1). */
export function decide(
  failure: Failure,
  { effect, maybeDone, attempts, elapsedMs }: Attempted,
  limits: RetryLimits,
  jitter: number,
): Decision {
  const { outcome, refresh, atOnce } = failures[failure];
  const fail = (code: OwnErrorCode | undefined): Decision => ({ do: 'fail', code, refresh });
  const isWrite = effect !== 'read';
  if (outcome === 'reply') return fail(undefined);
  if (outcome === 'done') return fail('DONE');
  // what a part has not done now, an earlier attempt may have
  if (outcome === 'partial') return fail(maybeDone ? 'OUTCOME_UNKNOWN' : 'PARTIAL');
  if (outcome === 'partly-unknown') return fail('OUTCOME_UNKNOWN');
  // Sent before, it may have run in the session that was collected since.
  if (outcome === 'session-lost' && maybeDone) return fail('OUTCOME_UNKNOWN');
  if (outcome === 'unknown' && effect === 'write') return fail('OUTCOME_UNKNOWN');
  const uncertain = isWrite && (maybeDone || outcome === 'unknown');
  const exhausted = uncertain
    ? 'OUTCOME_UNKNOWN'
    : outcome === 'unknown'
      ? 'TIMEOUT'
      : 'UNAVAILABLE';
  if (attempts >= limits.attemptsMax) return fail(exhausted);
  const afterMs = atOnce && attempts === 1 ? 0 : backoffMs(attempts, limits, jitter);
  if (elapsedMs + afterMs >= limits.timeoutMs) return fail(exhausted);
  return { do: 'retry', afterMs, refresh, newSession: outcome === 'session-lost' };
}

/** Doubles with each attempt up to the bound; between half of it and all of it. */
export function backoffMs(
  attempts: number,
  { backoffMinMs, backoffMaxMs }: Pick<RetryLimits, 'backoffMinMs' | 'backoffMaxMs'>,
  jitter: number,
): number {
  const whole = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(attempts - 1, 30));
  return whole * (0.5 + jitter / 2);
}

const byWord: ReadonlyMap<string, Failure> = new Map([
  ['MOVED', 'moved'],
  ['ASK', 'clusterChanged'],
  ['CLUSTERDOWN', 'clusterChanged'],
  ['ERR_CLUSTER_CHANGED', 'clusterChanged'],
  ['MASTERDOWN', 'clusterChanged'],
  ['READONLY', 'clusterChanged'],
  ['TRYAGAIN', 'busy'],
  ['LOADING', 'busy'],
  ['UNKNOWNOUTCOME', 'unknownOutcome'],
  ['PARTIALOUTCOME', 'partlyUnknown'],
  ['MISCONF', 'faulty'],
  ['SESSIONLOST', 'sessionLost'],
  ['DONE', 'done'],
]);

/** How a `PARTIALOUTCOME` ends that knows of each part whether it was done. */
const NONE_UNKNOWN = /; unknown for none\s*$/;

/** What an error reply means, by its first word. */
export function failureOf(text: string): Failure {
  const word = /^[A-Z_]+/.exec(text)?.[0];
  const failure = (word !== undefined && byWord.get(word)) || 'reply';
  return failure === 'partlyUnknown' && NONE_UNKNOWN.test(text) ? 'partial' : failure;
}

/** What a node says for itself: the log was not asked, and what was sent before may be in it. */
export function isOfNode(text: string): boolean {
  return /^(?:EXECABORT|NOPERM|NOAUTH|ERR unknown (?:sub)?command)\b/.test(text);
}

/** Host and port of `MOVED <slot> <host>:<port>`; undefined when it names none. */
export function movedTo(
  text: string,
): { readonly host: string; readonly port: number } | undefined {
  const found = /^MOVED \d+ (.*):(\d+)$/.exec(text.trim());
  if (!found) return undefined;
  const port = Number(found[2]);
  return port > 0 && port < 65_536 ? { host: found[1] ?? '', port } : undefined;
}
