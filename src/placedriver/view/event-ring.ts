/** The last things that happened to the cluster, as one placedriver saw them; bounded. */
import type { Revision } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ClusterEvent } from './facts.ts';

export interface ToldEvent {
  /** It had happened by this revision of the metadata store. */
  readonly revision: Revision;
  /** When this placedriver saw it (its wall clock). */
  readonly atMs: number;
  readonly event: ClusterEvent;
}

export class EventRing {
  #events: ToldEvent[] = [];
  #completeSince: Revision = 0;

  /** Nothing is known of what was before `revision`. */
  begin(revision: Revision): void {
    this.#completeSince = revision;
  }

  add(events: readonly ClusterEvent[], revision: Revision, atMs: number): void {
    for (const event of events) this.#events.push({ revision, atMs, event });
    const surplus = this.#events.length - limits.clusterEventsMax;
    if (surplus <= 0) return;
    this.#completeSince = this.#events[surplus - 1]!.revision;
    this.#events = this.#events.slice(surplus);
  }

  /** Those after `since`, oldest first; from `completeSince` on none is missing. */
  since(since: Revision): { events: readonly ToldEvent[]; completeSince: Revision } {
    const events = this.#events.filter(({ revision }) => revision > since);
    return { events, completeSince: this.#completeSince };
  }
}
