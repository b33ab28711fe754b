/** So many bytes a second, of all who share it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';

export class Throttle {
  readonly #bytesPerSecond: number;
  #freeAtMs = 0;

  /** 0: as many as there are. */
  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Resolves when `bytes` that were taken are within the rate. */
  async spend(bytes: number): Promise<void> {
    if (this.#bytesPerSecond === 0) return;
    const nowMs = performance.now();
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + (bytes * 1_000) / this.#bytesPerSecond;
    const waitMs = this.#freeAtMs - nowMs;
    if (waitMs > 1) await sleep(waitMs);
  }
}

const units = { '': 1, k: 1_024, m: 1_024 ** 2, g: 1_024 ** 3 } as const;

/** `800k`, `50m`, `1g`, or bytes. */
export function rateOption(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?(?:\/s)?$/i.exec(text.trim()) ?? [];
  const rate = Number(digits) * (units[unit?.toLowerCase() as keyof typeof units] ?? 1);
  if (digits !== undefined && rate >= 1) return rate;
  throw new InvalidArgumentError('must be bytes a second, as 800k or 50m.');
}
