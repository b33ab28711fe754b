/** Lines sent one behind the other over a connection that nobody else uses, and what came of them. */
import type { PartitionId } from '../common/ids.ts';
import type { Address } from '../common/network.ts';
import type { CallWorld } from './call-plan.ts';
import type { Argument, Connection, Outcome, Reply } from './connection.ts';
import { ownError, ReplyError } from './errors.ts';
import { type Failure, failureOf, movedTo } from './retry.ts';
import { noteMoved } from './targets.ts';

export interface Failed {
  readonly kind: 'failed';
  /** Of the line that was not queued, when the last is EXEC. */
  readonly failure: Failure;
  /** What a caller is rejected with when the failure is a reply. */
  readonly error: Error;
}

export type Answer = { readonly kind: 'reply'; readonly reply: Reply } | Failed;

/**
 * The outcome of the last line; `silent` when nobody has said anything within the time of an attempt:
 * the connection is closed then.
 */
export function exchange(
  world: CallWorld,
  partition: PartitionId | undefined,
  connection: Connection,
  lines: readonly (readonly Argument[])[],
): Promise<Answer> {
  const { clock, attemptTimeoutMs, pool } = world;
  const { address } = connection;
  return new Promise((resolve) => {
    const timer = clock.setTimer(attemptTimeoutMs, () => {
      pool.avoid(address);
      const error = new Error(`${address.host}:${address.port} says nothing`);
      resolve({ kind: 'failed', failure: 'silent', error });
      connection.close();
    });
    let firstError: string | undefined;
    lines.forEach((line, at) => {
      connection.send(line, (outcome) => {
        if (at < lines.length - 1) {
          if (outcome.kind === 'error') firstError ??= outcome.text;
          return;
        }
        timer.cancel();
        resolve(answerOf(world, partition, address, outcome, firstError));
      });
    });
  });
}

function answerOf(
  world: CallWorld,
  partition: PartitionId | undefined,
  address: Address,
  outcome: Outcome,
  firstError: string | undefined,
): Answer {
  switch (outcome.kind) {
    case 'reply':
      return outcome;
    case 'lost':
      return { kind: 'failed', failure: 'lost', error: outcome.cause };
    case 'unsent': {
      const refusal = world.pool.refusal(address);
      if (refusal === undefined) return { kind: 'failed', failure: 'unsent', error: outcome.cause };
      const text = `${address.host}:${address.port} refuses this client: ${refusal.message}`;
      const error = ownError('REFUSED', text, { partition, cause: refusal });
      return { kind: 'failed', failure: 'reply', error };
    }
    case 'error': {
      const aborted = outcome.text.startsWith('EXECABORT') ? firstError : undefined;
      const failure = failureOf(aborted ?? outcome.text);
      if (failure === 'moved')
        noteMoved(world, partition, movedTo(aborted ?? outcome.text), address);
      const cause = aborted === undefined ? undefined : new ReplyError(aborted, { partition });
      return { kind: 'failed', failure, error: new ReplyError(outcome.text, { partition, cause }) };
    }
  }
}
