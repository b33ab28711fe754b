/** Lines in the log of what goes wrong with strangers' connections: who asks for many gets few. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { LogFields, Logger } from '../log.ts';

export class ToldFailures {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #logger: Pick<Logger, 'warn'>;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #told = 0;
  #untold = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, logger: Pick<Logger, 'warn'>) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Warns, or counts for the next line that is written. */
  tell(text: string, fields: LogFields): void {
    const { most, inMs } = limits.tlsFailureLines;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sinceMs >= inMs) {
      this.#sinceMs = nowMs;
      this.#told = 0;
    }
    if (this.#told++ >= most) {
      this.#untold++;
      return;
    }
    const more = this.#untold > 0 ? { andBefore: this.#untold } : {};
    this.#untold = 0;
    this.#logger.warn(text, { ...fields, ...more });
  }
}
