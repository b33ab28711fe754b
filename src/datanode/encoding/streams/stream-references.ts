/** What all groups of a stream together have of an entry: whether one still needs it, and that none has it. */
import { compareIds, MAX_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import type { Stream } from './stream.ts';
import { Deliveries } from './stream-deliveries.ts';
import { eachGroup, type Group } from './stream-groups.ts';

/**
 * What becomes of what groups have pending of entries that are deleted: it stays pending; it goes as well;
 * entries that a group still needs are not deleted.
 */
export type PendingFate = 'keepref' | 'delref' | 'acked';

export class References {
  readonly #groups: readonly Deliveries[];
  readonly #changed = new Set<Deliveries>();
  /** Lookups made. */
  #done = 0;

  private constructor(groups: readonly Deliveries[]) {
    this.#groups = groups;
  }

  /** `known`: what a group has that is open already; it is saved by who opened it. */
  static *of(view: WriteView, stream: Stream, known?: Deliveries): Slices<References> {
    const groups: Group[] = [];
    yield* eachGroup(stream, (group) => {
      groups.push(group);
      return undefined;
    });
    const opened = groups.map((group) =>
      known?.group.number === group.number ? known : new Deliveries(view, stream, group),
    );
    return new References(opened);
  }

  /** Entries behind it are needed: a group has not come to them yet. */
  readByAll(): StreamId {
    return this.#groups.reduce<StreamId>(
      (least, { group }) => (compareIds(group.lastId, least) < 0 ? group.lastId : least),
      MAX_STREAM_ID,
    );
  }

  /** Whether a group has it pending, or has not come to it yet. */
  *isNeeded(id: StreamId): Slices<boolean> {
    for (const deliveries of this.#groups) {
      if (isGlanceDue(++this.#done)) yield GLANCE;
      if (compareIds(id, deliveries.group.lastId) > 0) return true;
      if (deliveries.pendingAt(id) !== undefined) return true;
    }
    return false;
  }

  /** It is pending in no group any more. */
  *drop(id: StreamId): Slices<void> {
    for (const deliveries of this.#groups) {
      if (isGlanceDue(++this.#done)) yield GLANCE;
      const pending = deliveries.pendingAt(id);
      if (pending === undefined) continue;
      deliveries.drop(id, pending);
      this.#changed.add(deliveries);
    }
  }

  *save(): Slices<void> {
    for (const deliveries of this.#changed) {
      yield* deliveries.findEarliest();
      deliveries.save();
    }
  }
}
