/**
 * How many writes of a client that may give back what they find are under way. How large that is nobody
 * knows before they are carried out, and what a write took cannot be asked for again as a read can: its
 * reply is kept, however many wait. So few begin, and more while their replies turn out to be small.
 */
import { limits } from '../../common/limits.ts';
import { type Command, carriedOut } from '../commands/command.ts';
import type { CommandLine, LineResult } from '../partition/batch.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { isShortWrite } from '../routing/short-writes.ts';
import type { LaneItem } from './lane.ts';

/** No reply counts for less. */
const REPLY_BYTES_MIN = 16;

type Item = Pick<LaneItem, 'mayAnswerMuch'>;

export class LongWrites {
  /** What the next reply may have, as those before it tell. */
  #expectedBytes: number = limits.longWriteExpectedBytes;
  #underWay = 0;

  /** So many may begin now, and one in any case. */
  get countMax(): number {
    const room = limits.connectionLongWritesBytes - this.#underWay * this.#expectedBytes;
    return Math.max(1, Math.floor(room / this.#expectedBytes));
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
