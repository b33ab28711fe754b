/** Durations over a threshold, by event, as Redis's latency monitor keeps them: one a second. */
import { limits } from '../../common/limits.ts';
import type { LatencyEvent, LatencySample, LatencyView } from '../commands/rows/node-watch.ts';

interface Kept {
  samples: LatencySample[];
  worstMilliseconds: number;
}

export class LatencySpikes implements LatencyView {
  readonly #threshold: () => number;
  readonly #events = new Map<string, Kept>();

  constructor(threshold: () => number) {
    this.#threshold = threshold;
  }

  get thresholdMs(): number {
    return this.#threshold();
  }

  /** `event` is one of few names of the program's own: nobody else's words make the map grow. */
  note(event: string, milliseconds: number, atSeconds: number): void {
    const threshold = this.#threshold();
    const whole = Math.round(milliseconds);
    if (threshold === 0 || milliseconds < threshold) return;
    let kept = this.#events.get(event);
    if (kept === undefined) {
      kept = { samples: [], worstMilliseconds: 0 };
      this.#events.set(event, kept);
    }
    kept.worstMilliseconds = Math.max(kept.worstMilliseconds, whole);
    const last = kept.samples.at(-1);
    if (last?.atSeconds === atSeconds) {
      const worse = { atSeconds, milliseconds: Math.max(last.milliseconds, whole) };
      kept.samples[kept.samples.length - 1] = worse;
      return;
    }
    kept.samples.push({ atSeconds, milliseconds: whole });
    if (kept.samples.length > limits.latencySamplesMax) kept.samples.shift();
  }

  events(): readonly LatencyEvent[] {
    return [...this.#events].map(([name, kept]) => ({ name, ...kept }));
  }

  reset(names: readonly string[]): number {
    const wanted = names.length === 0 ? [...this.#events.keys()] : names;
    return wanted.filter((name) => this.#events.delete(name)).length;
  }
}
