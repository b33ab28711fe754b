import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { PeerClock } from '../../../src/datanode/transport/peer-clock.ts';

const AHEAD_MS = 7_000_000;

/** A keepalive whose echo took `outMs` to the peer and that came back in `backMs`. */
function keepalive(clock: PeerClock, nowMs: number, outMs: number, backMs: number, ahead = 0) {
  clock.observe(nowMs - backMs + AHEAD_MS + ahead, outMs + backMs, nowMs);
}

const errorMs = (clock: PeerClock, nowMs: number) => clock.wallMs(nowMs)! - nowMs - AHEAD_MS;

test('is unknown before the first reading, and then the least that this allows', () => {
  const clock = new PeerClock();
  expect(clock.wallMs(5)).toBeUndefined();
  keepalive(clock, 1_000, 3, 1);
  expect(errorMs(clock, 1_000)).toBe(-1);
  expect(errorMs(clock, 9_000)).toBe(-1);
});

test('a slow way, there or back, does not move it', () => {
  const clock = new PeerClock();
  keepalive(clock, 1_000, 1, 1);
  keepalive(clock, 1_500, 2_400, 1);
  keepalive(clock, 2_000, 1, 2_400);
  expect(errorMs(clock, 2_000)).toBe(-1);
});

test('a first reading that was slow is mended by a quick one', () => {
  const clock = new PeerClock();
  keepalive(clock, 1_000, 0, 2_000);
  expect(errorMs(clock, 1_000)).toBe(-2_000);
  keepalive(clock, 1_500, 2, 2);
  expect(errorMs(clock, 1_500)).toBe(-2);
});

test('a step of the peer’s clock shows with the next reading', () => {
  const clock = new PeerClock();
  keepalive(clock, 1_000, 1, 1);
  keepalive(clock, 1_500, 1, 1, 60_000);
  expect(errorMs(clock, 1_500)).toBe(59_999);
  keepalive(clock, 2_000, 2_400, 1, -60_000);
  expect(errorMs(clock, 2_000)).toBe(-60_001);
});

test('over drawn ways it is never ahead, and behind by no more than the quickest way back', () => {
  const random = seededRandom('ways');
  for (let run = 0; run < 200; run++) {
    const clock = new PeerClock();
    let quickest = Number.POSITIVE_INFINITY;
    for (let at = 1; at <= 50; at++) {
      const [out, back] = [random.below(300), random.below(300)];
      quickest = Math.min(quickest, back);
      keepalive(clock, at * 500, out, back);
      expect(errorMs(clock, at * 500)).toBe(-quickest || 0);
    }
  }
});
