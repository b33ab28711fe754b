/** What a call is given, and what it tells. */
import type { Clock } from '../common/clock.ts';
import type { PartitionId } from '../common/ids.ts';
import type { Consistency } from './command-types.ts';
import type { Argument, Reply } from './connection.ts';
import type { Deadlines } from './deadlines.ts';
import type { ClientError } from './errors.ts';
import type { MultiProofs } from './multi-proofs.ts';
import type { RetryLimits } from './retry.ts';
import type { Sessions, Ticket } from './sessions.ts';
import type { TargetWorld } from './targets.ts';
import type { Window } from './window.ts';

/** What all calls of a client share. */
export interface CallWorld extends TargetWorld {
  readonly clock: Clock;
  readonly window: Window;
  readonly deadlines: Deadlines;
  readonly proofs: MultiProofs;
  /** Undefined: writes are sent without. */
  readonly sessions: Sessions | undefined;
  readonly retry: Omit<RetryLimits, 'timeoutMs'>;
  /** How long an attempt that may be repeated waits for its reply; see the option. */
  readonly attemptTimeoutMs: number;
}

export interface CallPlan {
  /** Lower case. */
  readonly name: string;
  /** Sent one behind the other; the reply of the last is the call's. */
  readonly lines: readonly (readonly Argument[])[];
  readonly effect: 'read' | 'write';
  /** Waits at the server: it has a connection for itself, and no time limit but the caller's. */
  readonly blocking: boolean;
  /** Of one that blocks: without a reply for so long after it was sent, nobody will answer. */
  readonly silentMs?: number | undefined;
  readonly partition: PartitionId | undefined;
  /** A key of the partition; undefined: it is not run in a session. */
  readonly key: Argument | undefined;
  /** On `clock.monotonicMs`: when the caller asked. */
  readonly askedMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly consistency: Consistency;
  /** Begins at once and does not count in the window: what others wait for. */
  readonly urgent?: boolean;
  /** MULTI, what is queued, EXEC: what is queued must not run without the others. */
  readonly isTransaction?: boolean;
  /** It has a connection for itself, as what blocks has: it changes what the connection is in. */
  readonly alone?: boolean;
  /** What was sent before under this place of a session may have taken effect. */
  readonly ticket?: Ticket | undefined;
}

export type CallResult =
  | { readonly ok: true; readonly reply: Reply; readonly attempts: number }
  | { readonly ok: false; readonly error: ClientError; readonly attempts: number };
