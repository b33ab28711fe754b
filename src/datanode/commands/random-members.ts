/** The count of SRANDMEMBER and HRANDFIELD, and the elements it asks for. */
import { limits } from '../../common/limits.ts';
import { type Members, pickDistinct, pickWithRepeats } from '../encoding/member-walk.ts';
import type { Slices } from '../encoding/slices.ts';
import { INT64_MAX } from '../encoding/string.ts';
import type { KeyValue } from '../engine/engine.ts';
import { error } from '../resp/reply.ts';
import { countArgument, integerArgument } from './args.ts';
import { ArgumentError } from './command.ts';

/** Elements that may be asked for with repeats: the reply names each of them. */
const REPEATS_MAX = 10_000_000;
const COUNT_MIN = -INT64_MAX;

export const REPLY_TOO_LARGE = error(
  `ERR the reply would be larger than ${limits.connectionOutputBytesMax} bytes: ask for less`,
);

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

/** Undefined when they would not fit a reply. */
export function* pickCount(
  members: Members,
  count: number,
  random: () => number,
): Slices<readonly KeyValue[] | undefined> {
  if (count >= 0) return yield* pickDistinct(members, count, random);
  if (count < -REPEATS_MAX) return undefined;
  const picked = yield* pickWithRepeats(members, -count, random);
  let bytes = 0;
  for (const [key, value] of picked) bytes += key.length + value.length;
  return bytes > limits.connectionOutputBytesMax ? undefined : picked;
}
