/** The count of SRANDMEMBER and HRANDFIELD, and the elements it asks for. */
import type { SteadyList } from '../../common/steady-list.ts';
import { type Members, pickDistinct, pickWithRepeats } from '../encoding/member-walk.ts';
import type { Slices } from '../encoding/slices.ts';
import { INT64_MAX } from '../encoding/string.ts';
import type { KeyValue } from '../engine/engine.ts';
import { replyTooLarge } from '../resp/reply-pile.ts';
import { countArgument, integerArgument } from './args.ts';
import { ArgumentError } from './command.ts';

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
  if (count >= 0) return yield* pickDistinct(members, count, random);
  if (count < -REPEATS_MAX) throw replyTooLarge('a smaller count');
  return yield* pickWithRepeats(members, -count, random);
}
