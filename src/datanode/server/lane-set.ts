/** All lanes of one connection, and how many of its commands they have not answered. */
import type { GroupId, Namespace } from '../../common/ids.ts';
import { Lane, type LaneItem, type LanePlace, type LaneWorld, NO_GROUP } from './lane.ts';
import { LongWrites } from './long-writes.ts';

/** The connection and its node, as lanes see them. */
export type LanesWorld = Omit<LaneWorld, 'settle' | 'longWrites'> & {
  /** Of replies that the client has not taken, those that wait for earlier ones included. */
  waitingBytes(): number;
};

/** So many lanes there are before those that are idle are let go. */
const SWEPT_MIN = 64;

export class LaneSet {
  readonly #world: LaneWorld;
  readonly #lanes = new Map<GroupId | Namespace, Lane>();
  /** Lanes with something new, to be started once all that has come in is distributed. */
  #stirred: Lane[] | undefined;
  #unanswered = 0;
  #sweepAt = SWEPT_MIN;

  /** `onAnswer` runs after each command's answer was handed over. */
  constructor(world: LanesWorld, onAnswer: () => void) {
    const settle: LaneWorld['settle'] = (item, reply, fate) => {
      this.#unanswered--;
      item.settle(reply, fate);
      onAnswer();
    };
    const longWrites = new LongWrites(() => world.waitingBytes());
    this.#world = { settle, longWrites, ...world };
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  get size(): number {
    return this.#lanes.size;
  }

  push(place: LanePlace, item: LaneItem): void {
    const lane = this.#lane(place);
    this.#unanswered++;
    lane.push(item);
    if (lane.isStirred) return;
    lane.isStirred = true;
    // mostly the only one, and a list that grows takes room for seventeen
    if (this.#stirred === undefined) this.#stirred = [lane];
    else this.#stirred.push(lane);
  }

  /** Lets the lanes that were given something begin. */
  start(): void {
    const lanes = this.#stirred;
    if (lanes === undefined) return;
    this.#stirred = undefined;
    for (const lane of lanes) lane.isStirred = false;
    for (const lane of lanes) lane.pump();
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
      if (this.#lanes.size >= this.#sweepAt) this.#sweep();
      lane = new Lane(place, this.#world);
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  /** Groups come and go while a client stays. Half are new at the next time: a lane costs two looks. */
  #sweep(): void {
    for (const [key, lane] of this.#lanes) if (lane.isIdle) this.#lanes.delete(key);
    this.#sweepAt = Math.max(SWEPT_MIN, 2 * this.#lanes.size);
  }
}
