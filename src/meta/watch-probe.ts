/**
 * Whether the member of etcd that serves a watch still hears of changes. One that is cut off from
 * the others, or whose disk hangs, keeps its connections and tells nothing. So the store is asked now
 * and then for its revision, by a read that a quorum confirms, and the member how far it is.
 */
import { sleep } from '../common/clock.ts';
import type { Revision } from '../common/ids.ts';
import type { EtcdConnection } from './etcd-connection.ts';

export class WatchProbe {
  readonly #connection: EtcdConnection;
  #heard: Revision = 0;

  constructor(connection: EtcdConnection) {
    this.#connection = connection;
  }

  /** The member was at `revision`. */
  heard(revision: Revision): void {
    this.#heard = Math.max(this.#heard, revision);
  }

  /**
   * Resolves once the member is behind, though `ask` made it tell how far it is; rejects when
   * `signal` aborts. While the store does not answer nothing is known.
   */
  async untilBehind(ask: () => void, signal: AbortSignal): Promise<void> {
    const { clock, watchProbeMs } = this.#connection;
    for (;;) {
      await sleep(clock, watchProbeMs, signal);
      const revision = await this.#revision();
      if (this.#heard >= revision || signal.aborted) continue;
      ask();
      await sleep(clock, watchProbeMs, signal);
      if (this.#heard < revision) return;
    }
  }

  /** Of the store; 0 while it does not answer. */
  #revision(): Promise<Revision> {
    return this.#connection.verify().then(
      () => this.#connection.revision,
      () => 0,
    );
  }
}
