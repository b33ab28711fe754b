/**
 * Which member of etcd is asked: any, but one that did not answer lately is left alone while there is
 * another. A member that is dead, cut off from the others or stuck would fail its share of all calls.
 */
import { noop } from 'cockatiel';
import { GRPCDeadlineExceededError, GRPCUnavailableError } from 'etcd3';
import type { Clock } from '../common/clock.ts';

const DOUBT_MS = 30_000;

export class MemberChoice {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Per member until when it is left alone. */
  readonly #doubtedUntilMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** For etcd3, which takes the next member when this one's policy runs nothing. */
  policyOf(member: string): typeof noop {
    this.#doubtedUntilMs.set(member, 0);
    const execute = async <T>(run: Parameters<typeof noop.execute<T>>[0]): Promise<T> => {
      if (this.#isDoubted(member) && this.#hasAnother()) {
        throw new Error(`${member} did not answer lately`);
      }
      try {
        return await noop.execute(run);
      } catch (failure) {
        if (isSilence(failure)) this.#doubt(member);
        throw failure;
      }
    };
    return Object.create(noop, { execute: { value: execute } });
  }

  #doubt(member: string): void {
    this.#doubtedUntilMs.set(member, this.#clock.monotonicMs() + DOUBT_MS);
  }

  #isDoubted(member: string): boolean {
    return this.#clock.monotonicMs() < this.#doubtedUntilMs.get(member)!;
  }

  #hasAnother(): boolean {
    return [...this.#doubtedUntilMs.keys()].some((member) => !this.#isDoubted(member));
  }
}

function isSilence(failure: unknown): boolean {
  return failure instanceof GRPCUnavailableError || failure instanceof GRPCDeadlineExceededError;
}

/**
 * Nothing was sent, so any call may be made again, the same or at another member: there was no
 * connection, or the call still waited for one when the channel was closed. etcd3 closes all channels
 * of a member, with what waits on them, when one call there finds it unavailable.
 */
export function wasNotSent(problem: string): boolean {
  return /No connection established|Name resolution failed|Channel closed before call started/.test(
    problem,
  );
}
