/**
 * How much of a client is under way: at most so many commands per partition, and as many that block;
 * the others wait in their order, so many in all. Those of a lane begin in the order in which they
 * were given.
 */
import type { PartitionId } from '../common/ids.ts';
import { WaitingLine } from './waiting-line.ts';

/** Something that begins when its turn comes and ends by `Window.leave`. */
export interface Entrant {
  begin(): void;
}

interface Lane {
  inFlight: number;
  /** Nothing begins until it is let go: a session is being opened. */
  holds: number;
  readonly waiting: WaitingLine<Entrant>;
  /** Those whose turn has come are being begun: one that ends at once lets the loop go on. */
  pumping: boolean;
}

/** Undefined: commands for no partition. */
export type LaneName = PartitionId | undefined | BlockingLane;

type BlockingLane = `blocking ${PartitionId | 'any'}`;

/** What blocks has a lane for itself: what it waits for must find room beside it. */
export function laneOf(partition: PartitionId | undefined, blocking: boolean): LaneName {
  return blocking ? `blocking ${partition ?? 'any'}` : partition;
}

export class Window {
  readonly #inFlightMax: number;
  readonly #waitingMax: number;
  readonly #lanes = new Map<LaneName, Lane>();
  #waiting = 0;
  #inFlight = 0;
  /** Of all partitions. */
  #holds = 0;
  #closed = false;
  /** Called when it is crowded no more. */
  #whenRoom: (() => void)[] = [];

  constructor(inFlightMax: number, waitingMax: number) {
    this.#inFlightMax = inFlightMax;
    this.#waitingMax = waitingMax;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** More than half of what may wait does; if nothing may: the next would perhaps have to. */
  get isCrowded(): boolean {
    if (this.#waitingMax === 0) return this.#holds > 0 || this.#inFlight >= this.#inFlightMax;
    return this.#waiting * 2 > this.#waitingMax;
  }

  /** False: no room, and it never begins. */
  enter(name: LaneName, entrant: Entrant): boolean {
    const lane = this.#lane(name);
    if (lane.waiting.size === 0 && this.#mayBegin(lane)) {
      this.#begin(lane, entrant);
      return true;
    }
    if (this.#waiting >= this.#waitingMax) return false;
    lane.waiting.add(entrant);
    this.#waiting++;
    return true;
  }

  /** Ends one that has begun. */
  leave(name: LaneName): void {
    const lane = this.#lane(name);
    lane.inFlight--;
    this.#inFlight--;
    this.#pump(lane);
    this.#tell();
  }

  /** Takes one away that has not begun; false when it is not waiting. */
  withdraw(name: LaneName, entrant: Entrant): boolean {
    if (!this.#lane(name).waiting.delete(entrant)) return false;
    this.#waiting--;
    this.#tell();
    return true;
  }

  /** Nothing begins any more: who waits is to withdraw. */
  close(): void {
    this.#closed = true;
  }

  /** Nothing of the partition begins until it is let go. */
  hold(partition: PartitionId | undefined): void {
    this.#holds++;
    for (const lane of this.#lanesOf(partition)) lane.holds++;
  }

  letGo(partition: PartitionId | undefined): void {
    this.#holds--;
    for (const lane of this.#lanesOf(partition)) {
      lane.holds--;
      this.#pump(lane);
    }
    this.#tell();
  }

  /** Resolves when it is not crowded. */
  room(): Promise<void> {
    if (!this.isCrowded) return Promise.resolve();
    return new Promise((resolve) => this.#whenRoom.push(resolve));
  }

  #lanesOf(partition: PartitionId | undefined): readonly Lane[] {
    return [false, true].map((blocking) => this.#lane(laneOf(partition, blocking)));
  }

  #lane(name: LaneName): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { inFlight: 0, holds: 0, waiting: new WaitingLine(), pumping: false };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #mayBegin({ inFlight, holds }: Lane): boolean {
    return !this.#closed && holds === 0 && inFlight < this.#inFlightMax;
  }

  #begin(lane: Lane, entrant: Entrant): void {
    lane.inFlight++;
    this.#inFlight++;
    entrant.begin();
  }

  #pump(lane: Lane): void {
    if (lane.pumping) return;
    lane.pumping = true;
    while (this.#mayBegin(lane)) {
      const entrant = lane.waiting.shift();
      if (entrant === undefined) break;
      this.#waiting--;
      this.#begin(lane, entrant);
    }
    lane.pumping = false;
  }

  #tell(): void {
    if (this.#whenRoom.length > 0 && !this.isCrowded) {
      for (const tell of this.#whenRoom.splice(0)) tell();
    }
  }
}
