/** How many groups of a node may be at the same work at once. */
import type { GroupId } from '../../../common/ids.ts';

export class Places {
  readonly #max: number;
  readonly #taken = new Set<GroupId>();

  constructor(max: number) {
    this.#max = max;
  }

  /** True also for a group that has a place. */
  take(group: GroupId): boolean {
    if (!this.#taken.has(group) && this.#taken.size >= this.#max) return false;
    this.#taken.add(group);
    return true;
  }

  give(group: GroupId): void {
    this.#taken.delete(group);
  }
}
