/**
 * Leases (thesis 6.4.1): a leader reads without a round while no other can have been elected. Who
 * hears from a leader promises to help no other for a while; a round that a quorum answered shows
 * that so many promises were made after it was sent. Both sides measure by their monotone clock,
 * never by ticks: those are late, or missing, after a stall. The lease is shorter than the promise
 * by what the clocks of two nodes may drift apart meanwhile.
 *
 * A monotone clock can stand still (a suspended machine). The wall clock does not, or is set when
 * the machine goes on: a lease ends when the two have moved apart.
 */
import type { Core } from './core.ts';
import { NONE } from './message.ts';

export interface LeaseConfig {
  /**
   * Whether the group is to have leases, as far as this replica knows: that may change, and reaches
   * each replica at another time. One that does not know promises nothing, and its answers begin no
   * lease; a promise that was made is kept.
   */
  inUse(): boolean;
  monotonicMs(): number;
  wallMs(): number;
  /** How long who heard from a leader helps no other; equal for all replicas of the group. */
  readonly promiseMs: number;
  /** How long a lease runs from the sending of the round that began it: less than `promiseMs`. */
  readonly lengthMs: number;
  /** Wall and monotone clock may move apart by this during a lease; `lengthMs` allows for it. */
  readonly jumpMs: number;
  /** A life before this one may have made a promise: as if it had made it just now. */
  readonly promised: boolean;
}

export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Now, or undefined where there are no leases. The monotone clock is read last: never too early. */
export function moment({ config }: Core): Moment | undefined {
  const { lease } = config;
  if (!lease?.inUse()) return undefined;
  return { wallMs: lease.wallMs(), monotonicMs: lease.monotonicMs() };
}

/**
 * A promise to the leader that was just heard, kept even when a higher term makes it forgotten.
 * False: there are no leases, and none was made.
 */
export function promise(core: Core): boolean {
  const { lease } = core.config;
  if (!lease?.inUse()) return false;
  core.promisedUntilMs = lease.monotonicMs() + lease.promiseMs;
  return true;
}

/** A life before this one may have promised something, whether or not there are leases now. */
export function promiseAnew(core: Core): void {
  const { lease } = core.config;
  if (lease?.promised) core.promisedUntilMs = lease.monotonicMs() + lease.promiseMs;
}

/** True while a leader may rely on this voter's promise: it neither votes nor campaigns. */
export function holdsVote(core: Core): boolean {
  return promiseLeftMs(core) > 0;
}

/** 0: none holds. */
export function promiseLeftMs({ config, promisedUntilMs }: Core): number {
  if (config.lease === undefined) return 0;
  return Math.max(0, promisedUntilMs - config.lease.monotonicMs());
}

/** True while reads need no round: the lease runs, no transfer, and this replica votes. */
export function leaseHolds(core: Core): boolean {
  const { lease } = core.config;
  const { leaseStart } = core.reads;
  if (lease === undefined || leaseStart === undefined || core.leadTransferee !== NONE) return false;
  if (!core.tracker.isVoter(core.id)) return false;
  const now = moment(core);
  if (now === undefined) return false;
  const { wallMs, monotonicMs } = now;
  const passedMs = monotonicMs - leaseStart.monotonicMs;
  if (Math.abs(wallMs - leaseStart.wallMs - passedMs) > lease.jumpMs) return false;
  return passedMs < lease.lengthMs;
}
