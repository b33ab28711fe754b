/**
 * What was stored last of sessions (`encoding/sessions/sessions.ts`). Each batch that a gateway forwards reads on
 * every replica what its session is, what was kept for it and how much is kept in all, and writes most
 * of it anew: some ten records, small, the same again and again.
 */
import { limits } from '../../../common/limits.ts';
import { CRC_BYTES } from '../../encoding/records/record.ts';

/** Of one engine. */
export class KnownSessions {
  /** As they were before they were sealed; who was used last is last. */
  readonly #values = new Map<string, Buffer>();

  /** Undefined says nothing. */
  valueOf(key: Buffer): Buffer | undefined {
    const name = nameOf(key);
    const value = this.#values.get(name);
    if (value !== undefined) this.#keep(name, value);
    return value;
  }

  /** `sealed` is stored under the key, or nothing any more. */
  changing(key: Buffer, sealed: Buffer | undefined): void {
    const name = nameOf(key);
    if (sealed === undefined || sealed.length > limits.knownSessionBytesMax) {
      this.#values.delete(name);
      return;
    }
    this.#keep(name, sealed.subarray(0, sealed.length - CRC_BYTES));
    if (this.#values.size <= limits.knownSessionRecordsMax) return;
    const [oldest] = this.#values.keys();
    this.#values.delete(oldest!);
  }

  forget(): void {
    this.#values.clear();
  }

  #keep(name: string, value: Buffer): void {
    this.#values.delete(name);
    this.#values.set(name, value);
  }
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}
