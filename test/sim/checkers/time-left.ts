/**
 * TTL and its like tell the time that a leader has beyond its log's, so no state answers them to the
 * byte. But what they tell follows from a deadline of a state of their time: none without the key,
 * none without a deadline, and never more than was left when the state's last entry was logged. Nor
 * does it grow without a write: whoever asks later is told of less by the time that has passed, but
 * for how far the clocks of two leaders are apart.
 */
import type { GroupId } from '../../../src/common/ids.ts';
import { findKey } from '../../../src/datanode/encoding/keyspace/keyspace.ts';
import { createView } from '../../../src/datanode/encoding/txn/txn.ts';
import { integer, type Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import type { Sent } from '../typed.ts';
import { Violation } from './checker.ts';
import { answer, type Rule, type State, shownRead, tellsTimeLeft } from './open-reads.ts';

/** Milliseconds that may be left, by what was told: the least and the most. */
type Left = readonly [number, number];

/** Group time that an answer shows. */
interface Shown {
  readonly sent: Sent;
  readonly leastMs: number;
  readonly mostMs: number;
}

/** Redis rounds those of keys to the nearest second, and those of fields up. */
const leftBy: Readonly<Record<string, (told: number) => Left>> = {
  ttl: (told) => [told * 1_000 - 500, told * 1_000 + 499],
  'zan.ttl': (told) => [told * 1_000 - 500, told * 1_000 + 499],
  pttl: (told) => [told, told],
  httl: (told) => [told * 1_000 - 999, told * 1_000],
  hpttl: (told) => [told, told],
};

const ABSENT = -2;
const NO_DEADLINE = -1;
/** Clocks of processes are read in whole milliseconds. */
const ROUNDED_MS = 2;

export class TimeLeft implements Rule {
  readonly name = 'time left';
  readonly isAbout = tellsTimeLeft;
  readonly #apartMs: number;
  readonly #shown: Shown[] = [];

  /** Two leaders' clocks are not further apart than `apartMs`. */
  constructor(apartMs: number) {
    this.#apartMs = apartMs;
  }

  async hold(sent: Sent, state: State): Promise<{ agrees: boolean; shown: string }> {
    const line = sent.lines[0]!;
    const name = line[0]!.toString().toLowerCase();
    const deadlines = await deadlinesOf(name, line, state);
    const shown = `deadlines ${textOf(deadlines)} at ${state.timeMs()}`;
    const [told, wanted] = [numbersOf(sent.reply!), numbersOf(deadlines)];
    if (told === undefined || wanted === undefined) {
      return { agrees: textOf(sent.reply) === textOf(deadlines), shown };
    }
    const left = leftBy[name]!;
    const agrees =
      told.length === wanted.length &&
      told.every((one, at) => isLeft(one, wanted[at]!, left, state.timeMs()));
    if (agrees) this.#note(sent, told, wanted, left);
    return { agrees, shown };
  }

  /** Throws Violation when group time that was told went back, or stood still. */
  end(group: GroupId): void {
    const byInvocation = this.#shown.toSorted((a, b) => a.sent.invokedMs - b.sent.invokedMs);
    const byReturn = this.#shown.toSorted((a, b) => a.sent.returnedMs - b.sent.returnedMs);
    let newest: Shown | undefined;
    let at = 0;
    for (const shown of byInvocation) {
      for (; at < byReturn.length && byReturn[at]!.sent.returnedMs < shown.sent.invokedMs; at++) {
        if (newest === undefined || lead(byReturn[at]!) > lead(newest)) newest = byReturn[at]!;
      }
      if (newest === undefined) continue;
      const dueMs = lead(newest) + shown.sent.invokedMs - this.#apartMs - ROUNDED_MS;
      if (shown.mostMs >= dueMs) continue;
      const text = `group ${group}: more time is left than before, and nobody wrote:`;
      throw new Violation(
        this.name,
        `${text}\n${shownRead(newest.sent)}\n${shownRead(shown.sent)}`,
      );
    }
  }

  #note(
    sent: Sent,
    told: readonly number[],
    deadlines: readonly number[],
    left: (told: number) => Left,
  ): void {
    for (const [at, one] of told.entries()) {
      if (one < 0) continue;
      const [least, most] = left(one);
      const deadlineMs = deadlines[at]!;
      this.#shown.push({ sent, leastMs: deadlineMs - most, mostMs: deadlineMs - least });
    }
  }
}

/** How far the group's time was ahead of the run's when it was told, at least. */
function lead({ leastMs, sent }: Shown): number {
  return leastMs - sent.returnedMs;
}

function isLeft(told: number, deadlineMs: number, left: (told: number) => Left, timeMs: number) {
  if (deadlineMs < 0 || told < 0) return told === deadlineMs;
  const [least, most] = left(told);
  return most > 0 && least <= deadlineMs - timeMs;
}

/** Of the key, or of each field; ABSENT, NO_DEADLINE. Or what there is no deadline of. */
async function deadlinesOf(name: string, line: readonly Buffer[], state: State): Promise<Reply> {
  if (name.startsWith('h')) return answer([Buffer.from('HPEXPIRETIME'), ...line.slice(1)], state);
  if (name === 'zan.ttl') {
    // a key of another type is none there, and of none it tells that there is no deadline
    const own = await answer(line, state);
    if (numbersOf(own)?.[0] === NO_DEADLINE) return own;
  }
  const key = name === 'zan.ttl' ? line[2]! : line[1]!;
  const { live } = findKey(createView(state.engine), key, state.timeMs());
  if (live === undefined) return integer(ABSENT);
  return integer(live.deadlineMs === 0 ? NO_DEADLINE : live.deadlineMs);
}

function numbersOf(reply: Reply): readonly number[] | undefined {
  if (reply.kind === 'integer') return [Number(reply.value)];
  if (reply.kind !== 'array') return undefined;
  const numbers = reply.items.map((item) => (item.kind === 'integer' ? Number(item.value) : NaN));
  return numbers.some(Number.isNaN) ? undefined : numbers;
}
