/** BZPOPMIN, BZPOPMAX, BZMPOP: as blocking-list.ts, of sorted sets. */
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { openZset } from '../../encoding/zsets/zset.ts';
import { array, bulk, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { WRONG_TYPE } from '../rows/args.ts';
import { type Command, NO_KEYS, type RunContext, write } from '../rows/command.ts';
import { zsetColumn } from '../zsets/zset.ts';
import { drop, pairOf, parseMPop, runMPop, takeEntries } from '../zsets/zset-pop.ts';
import {
  afterTimeout,
  KEYS_BEFORE_TIMEOUT,
  keysThenTimeout,
  multiPopForm,
  multiPopKeys,
  popForm,
} from './blocking.ts';

interface Pop {
  readonly keys: readonly Buffer[];
  readonly highest: boolean;
}

/** BZPOPMIN key [key ...] timeout, BZPOPMAX */
function parsePop(highest: boolean): (args: readonly Buffer[]) => Pop {
  return (args) => ({ keys: keysThenTimeout(args).keys, highest });
}

function* runPop(view: WriteView, { keys, highest }: Pop, { nowMs }: RunContext): Slices<Reply> {
  let met = 0;
  for (const key of keys) {
    if (isGlanceDue(++met)) yield GLANCE;
    const zset = openZset(view, key, nowMs);
    if (zset === 'wrong-type') return WRONG_TYPE;
    if (zset.size === 0) continue;
    const entries = yield* takeEntries(zset, highest, 1);
    const reply = array([bulk(key), ...[...entries].flatMap(pairOf)]);
    return yield* drop(view, zset, entries, highest, reply);
  }
  return NULL_ARRAY;
}

const popColumn = {
  ...zsetColumn,
  arity: -3,
  flags: ['write', 'noscript', 'blocking', 'fast'],
  keys: KEYS_BEFORE_TIMEOUT,
  since: '5.0.0',
  run: runPop,
  blocking: popForm('zset'),
} as const;

export const blockingZsetCommands: readonly Command[] = [
  write({
    ...popColumn,
    name: 'bzpopmin',
    summary: 'Removes the member with the lowest score of a sorted set, and waits for one.',
    parse: parsePop(false),
  }),
  write({
    ...popColumn,
    name: 'bzpopmax',
    summary: 'Removes the member with the highest score of a sorted set, and waits for one.',
    parse: parsePop(true),
  }),
  write({
    ...zsetColumn,
    name: 'bzmpop',
    arity: -5,
    flags: ['write', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: multiPopKeys,
    since: '7.0.0',
    summary: 'Removes members of the first sorted set that has any, and waits for one.',
    // BZMPOP timeout numkeys key [key ...] MIN | MAX [COUNT count]
    parse: afterTimeout(parseMPop),
    run: runMPop,
    blocking: multiPopForm('zset'),
  }),
];
