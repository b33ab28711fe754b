/** What users were refused, newest first; the same again within a minute is counted. */
import { limits } from '../../common/limits.ts';
import type { AclLogEntry } from '../commands/users/acl-view.ts';

const SAME_WITHIN_MS = 60_000;

export type Refusal = Pick<AclLogEntry, 'reason' | 'context' | 'object' | 'user' | 'client'>;

function noCounts(): Record<AclLogEntry['reason'], number> {
  return { command: 0, key: 0, channel: 0, auth: 0, namespace: 0 };
}

export class AclLog {
  readonly #entriesMax: () => number;
  #entries: AclLogEntry[] = [];
  #nextId = 0;
  #counts = noCounts();

  constructor(entriesMax: () => number) {
    this.#entriesMax = entriesMax;
  }

  /** Since the start or CONFIG RESETSTAT; that the log is short or emptied changes nothing. */
  get counts(): Readonly<Record<AclLogEntry['reason'], number>> {
    return this.#counts;
  }

  resetCounts(): void {
    this.#counts = noCounts();
  }

  add(refusal: Refusal, nowMs: number): void {
    this.#counts[refusal.reason]++;
    const { reason, context, user } = refusal;
    const object = refusal.object.slice(0, limits.shownArgumentBytesMax);
    const at = this.#entries.findIndex(
      (one) =>
        one.reason === reason &&
        one.context === context &&
        one.object === object &&
        one.user === user &&
        nowMs - one.createdMs < SAME_WITHIN_MS,
    );
    const before = at < 0 ? undefined : this.#entries.splice(at, 1)[0];
    this.#entries.unshift({
      ...refusal,
      object,
      id: before?.id ?? this.#nextId++,
      count: (before?.count ?? 0) + 1,
      createdMs: before?.createdMs ?? nowMs,
      updatedMs: nowMs,
    });
    this.#entries.splice(this.#entriesMax());
  }

  newest(count: number): readonly AclLogEntry[] {
    return this.#entries.slice(0, count);
  }

  reset(): void {
    this.#entries = [];
  }
}
