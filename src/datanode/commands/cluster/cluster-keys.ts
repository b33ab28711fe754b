/**
 * CLUSTER COUNTKEYSINSLOT and GETKEYSINSLOT: the keys of one slot, which lie side by side in the engine.
 * They are reads like any other: linearizable, and answered at the gateway, too, where Redis without a
 * cluster has no slots. As SCAN they leave out what has expired.
 */
import { SLOT_COUNT } from '../../../common/hash.ts';
import type { Slot } from '../../../common/ids.ts';
import { isExpired } from '../../encoding/keyspace/keyspace.ts';
import { decodeHeader } from '../../encoding/records/header.ts';
import { decodeKey, keyAfter, keyRange } from '../../encoding/records/key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { bulk, integer, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, integerArgument } from '../rows/args.ts';
import { ArgumentError, NO_KEYS, type ReadCommand, read } from '../rows/command.ts';

const column = {
  keys: NO_KEYS,
  flags: ['stale'],
  categories: [],
  group: 'cluster',
  since: '3.0.0',
} as const;

/** The live keys of a slot, in the order of their hashes. */
function* liveKeys(slot: Slot, nowMs: number, found: (key: Buffer) => boolean): Slices<void> {
  let range = keyRange(slot, 0, slot);
  for (;;) {
    const pairs = yield range;
    if (pairs.length === 0) return;
    for (const [encoded, value] of pairs) {
      if (isExpired(encoded, decodeHeader(encoded, value), nowMs)) continue;
      if (!found(decodeKey(encoded).key)) return;
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function isSlot(slot: number | bigint): slot is number {
  return slot >= 0 && slot < SLOT_COUNT;
}

export const clusterKeyCommands: readonly ReadCommand[] = [
  /** CLUSTER COUNTKEYSINSLOT slot */
  read({
    ...column,
    name: 'cluster|countkeysinslot',
    arity: 3,
    summary: 'Returns the number of keys in a hash slot.',
    fanOut: { over: 'partitions', merge: 'sum' },
    parse: (args): Slot => {
      const slot = integerArgument(argument(args, 2));
      if (!isSlot(slot)) throw new ArgumentError('ERR Invalid slot');
      return slot;
    },
    *run(_view, slot, { nowMs }): Slices<Reply> {
      let count = 0;
      yield* liveKeys(slot, nowMs, () => ++count > 0);
      return integer(count);
    },
  }),
  /** CLUSTER GETKEYSINSLOT slot count */
  read({
    ...column,
    name: 'cluster|getkeysinslot',
    arity: 4,
    summary: 'Returns the key names in a hash slot.',
    fanOut: { over: 'partitions', merge: 'concat' },
    parse: (args) => {
      const slot = integerArgument(argument(args, 2));
      const count = integerArgument(argument(args, 3));
      if (!isSlot(slot) || count < 0) {
        throw new ArgumentError('ERR Invalid slot or number of keys');
      }
      return { slot, count };
    },
    *run(_view, { slot, count }, { nowMs }): Slices<Reply> {
      const keys = new ReplyPile('array', 'a smaller count');
      let left = count;
      const take = (key: Buffer): boolean => {
        keys.add(bulk(key));
        return --left > 0;
      };
      if (left > 0) yield* liveKeys(slot, nowMs, take);
      return keys.reply();
    },
  }),
];
