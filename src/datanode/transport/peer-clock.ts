/**
 * What is known of a peer's wall clock, told against our monotone clock: a step of our own wall
 * clock changes nothing of it. A reading bounds the peer's clock by the whole round trip, as nobody
 * knows how that is shared between the ways (RFC 5905, section 8, halves it); so what is known
 * already stays while a new reading allows it, and a slow round trip cannot move it.
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
    const guess = this.#aheadMs ?? least + roundTripMs / 2;
    this.#aheadMs = Math.min(Math.max(guess, least), least + roundTripMs);
  }

  /** The peer's wall clock at `nowMs` of our monotone one; undefined before the first reading. */
  wallMs(nowMs: number): number | undefined {
    return this.#aheadMs === undefined ? undefined : nowMs + this.#aheadMs;
  }
}
