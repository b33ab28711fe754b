/** The count of SRANDMEMBER and HRANDFIELD, and the elements it asks for. */
import type { SteadyList } from '../../../common/steady-list.ts';
import {
  isCheaperWhole,
  type Members,
  pickDistinct,
  pickWithRepeats,
} from '../../encoding/collections/member-walk.ts';
import { decodeMember } from '../../encoding/records/element-key.ts';
import { giveWay, type Slices, STEP_ITEMS } from '../../encoding/steps/slices.ts';
import { INT64_MAX } from '../../encoding/strings/string.ts';
import type { KeyValue } from '../../engine/engine.ts';
import { ReplyRoom, replyTooLarge } from '../../resp/reply-pile.ts';
import { countArgument, integerArgument } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';

/** Elements that may be asked for with repeats: the reply names each of them. */
const REPEATS_MAX = 10_000_000;
const COUNT_MIN = -INT64_MAX;

/** A count; negative: with repeats. `pairs`: each element is two items of the reply. */
export function randomCount(arg: Buffer, pairs = false): number {
  const count = integerArgument(arg);
  if (count < COUNT_MIN) {
    throw new ArgumentError(
      `ERR value is out of range, value must between ${COUNT_MIN} and ${INT64_MAX}`,
    );
  }
  if (pairs && (count > INT64_MAX / 2n || count < COUNT_MIN / 2n)) {
    throw new ArgumentError('ERR value is out of range');
  }
  return countArgument(arg);
}

/** Throws ReplyTooLargeError when they cannot fit a reply. */
export function* pickCount(
  members: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  if (count >= 0) return yield* pickDistinctFor(members, count, random);
  if (count < -REPEATS_MAX) throw replyTooLarge('a smaller count');
  if (members.size > 0 && isCheaperWhole(members, -count)) {
    yield* refuseRepeats(-count, random);
  }
  return yield* pickWithRepeats(members, -count, random);
}

/** As `pickDistinct`, for a reply. Throws ReplyTooLargeError. */
export function* pickDistinctFor(
  members: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  // where some are drawn, what is refused has to draw as often: the entry's next command goes on
  if (count < members.size) return yield* pickDistinct(members, count, random);
  const room = new ReplyRoom('a smaller count');
  const isLive = (element: KeyValue) => {
    const live = members.isLive(element);
    if (live) room.note(decodeMember(element[0]).length);
    return live;
  };
  return yield* pickDistinct({ ...members, isLive }, count, random);
}

/**
 * Refuses so many elements with repeats when no reply has room for them, after the draws that they
 * would take: the next command of the entry goes on with those behind. Throws ReplyTooLargeError.
 */
export function* refuseRepeats(count: number, random: () => number): Slices<void> {
  if (!ReplyRoom.isShortFor(count)) return;
  for (let draw = 0; draw < count; draw++) {
    if (draw % STEP_ITEMS === STEP_ITEMS - 1) yield* giveWay();
    random();
  }
  throw replyTooLarge('a smaller count');
}
