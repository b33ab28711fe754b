/** All lanes of one connection, and how many of its commands they have not answered. */
import type { GroupId, Namespace } from '../../common/ids.ts';
import { Lane, type LaneItem, type LanePlace, type LaneWorld, NO_GROUP } from './lane.ts';

export class LaneSet {
  readonly #world: LaneWorld;
  readonly #lanes = new Map<GroupId | Namespace, Lane>();
  /** Lanes with something new, to be started once all that has come in is distributed. */
  #stirred: Lane[] = [];
  #unanswered = 0;

  /** `onAnswer` runs after each command's answer was handed over. */
  constructor(world: Omit<LaneWorld, 'settle'>, onAnswer: () => void) {
    const settle: LaneWorld['settle'] = (item, reply, fate) => {
      this.#unanswered--;
      item.settle(reply, fate);
      onAnswer();
    };
    this.#world = { settle, ...world };
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  push(place: LanePlace, item: LaneItem): void {
    const lane = this.#lane(place);
    this.#unanswered++;
    if (!lane.isStirred) this.#stirred.push(lane);
    lane.isStirred = true;
    lane.push(item);
  }

  /** Lets the lanes that were given something begin. */
  start(): void {
    if (this.#stirred.length === 0) return;
    const lanes = this.#stirred;
    this.#stirred = [];
    for (const lane of lanes) {
      lane.isStirred = false;
      lane.pump();
    }
  }

  pumpAll(): void {
    for (const lane of this.#lanes.values()) lane.pump();
  }

  close(): void {
    for (const lane of this.#lanes.values()) lane.close();
  }

  #lane(place: LanePlace): Lane {
    const key = place.group === NO_GROUP ? place.namespace : place.group;
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(place, this.#world);
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}
