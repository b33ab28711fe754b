/**
 * What is known of a peer's wall clock, told against our monotone clock: a step of our own wall
 * clock changes nothing of it. A reading bounds the peer's clock by the whole round trip, as nobody
 * knows how that is shared between the ways. What is known already stays while a reading allows it,
 * and else the least that it allows is taken (RFC 5905, section 8, takes the middle): a group that
 * follows a clock which is thought to be behind lets keys live longer for as long as the error
 * lasts, one that follows a clock thought to be ahead loses them.
 */
export class PeerClock {
  /** The peer's wall clock minus our monotone one. */
  #aheadMs: number | undefined;

  /**
   * At `nowMs` of our monotone clock a stamp of the peer's wall clock arrived, which was set no
   * longer ago than the round trip took.
   */
  observe(stampMs: number, roundTripMs: number, nowMs: number): void {
    const least = stampMs - nowMs;
    const known = this.#aheadMs ?? least;
    this.#aheadMs = known >= least && known <= least + roundTripMs ? known : least;
  }

  /** The peer's wall clock at `nowMs` of our monotone one; undefined before the first reading. */
  wallMs(nowMs: number): number | undefined {
    return this.#aheadMs === undefined ? undefined : nowMs + this.#aheadMs;
  }
}
