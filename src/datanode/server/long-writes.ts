/**
 * How many writes of a client that may give back what they find are under way. How large that is nobody
 * knows before they are carried out, and what a write took cannot be asked for again as a read can: its
 * reply is kept, however many wait. So one begins, and more while their replies turn out to be small.
 */
import { limits } from '../../common/limits.ts';
import { type Command, carriedOut } from '../commands/rows/command.ts';
import type { CommandLine, LineResult } from '../partition/entries/batch.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { isShortWrite } from '../routing/short-writes.ts';
import type { Lane, LaneItem } from './lane.ts';

/** No reply counts for less. */
const REPLY_BYTES_MIN = 16;

/** A lane that could not begin. */
type HeldBack = Pick<Lane, 'pump'>;
type Item = Pick<LaneItem, 'mayAnswerMuch'>;

/** Of one connection. */
export class LongWrites {
  /** Replies that its client has not taken, those that wait for earlier ones included. */
  readonly #waitingBytes: () => number;
  /** What the next reply may have, as those before it tell: until there are any, all there may be. */
  #expectedBytes: number = limits.connectionLongWritesBytes;
  #underWay = 0;
  /** In the order in which they are to go on. */
  readonly #heldBack = new Set<HeldBack>();

  constructor(waitingBytes: () => number) {
    this.#waitingBytes = waitingBytes;
  }

  /**
   * So many may begin now: one in any case while none is under way, or when its reply is the next to
   * leave. Otherwise a partition that does not answer would keep the others from what is before it.
   */
  countMax(isNext = false): number {
    const bytes = this.#underWay * this.#expectedBytes + this.#waitingBytes();
    const room = limits.connectionLongWritesBytes - bytes;
    const least = isNext || this.#underWay === 0 ? 1 : 0;
    return Math.max(least, Math.floor(room / this.#expectedBytes));
  }

  /** Its lane is to go on when there is room: see `letGoOn`. */
  holdBack(lane: HeldBack): void {
    this.#heldBack.add(lane);
  }

  /** What was under way has ended, and its replies are handed over. */
  letGoOn(): void {
    for (const lane of this.#heldBack) {
      if (this.countMax() === 0) return;
      this.#heldBack.delete(lane);
      lane.pump();
    }
  }

  /** A batch leaves. */
  begin(items: readonly Item[]): void {
    for (const item of items) if (item.mayAnswerMuch === true) this.#underWay++;
  }

  /**
   * Its results have come: a large one is believed at once, small ones little by little. What was not
   * carried out, as while there is no leader, tells nothing.
   */
  end(items: readonly Item[], results: readonly LineResult[]): void {
    let count = 0;
    let bytes = 0;
    for (let at = 0; at < items.length; at++) {
      if (items[at]!.mayAnswerMuch !== true) continue;
      this.#underWay--;
      const result = results[at]!;
      if (!result.ok) continue;
      count++;
      bytes += replyBytes(result.reply);
    }
    if (count === 0) return;
    this.#expectedBytes = Math.max(bytes / count, this.#expectedBytes / 2, REPLY_BYTES_MIN);
  }
}

/** Whether it is a write that may give back what it finds, or the one that it carries is. */
export function mayAnswerMuch(command: Command, args: CommandLine): boolean {
  if (command.kind !== 'write') return false;
  const { command: within, line } = carriedOut(command, args);
  return !isShortWrite(within.name, line);
}
