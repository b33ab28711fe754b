/** Counting different elements approximately: PFADD, PFCOUNT, PFMERGE, PFSELFTEST. */

import { type Found, findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  addElement,
  cachedCardinality,
  emptySketch,
  estimate,
  isDense,
  isSketch,
  markStale,
  mergeInto,
  REGISTERS,
  type Registers,
  raiseRegister,
  toDense,
} from '../../encoding/sketches/hyperloglog.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import { storeString } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { error, integer, OK, type Reply } from '../../resp/reply.ts';
import { argument, WRONG_TYPE } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ALL_KEYS,
  type Command,
  FIRST_KEY,
  NO_KEYS,
  node,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { SeenKeys } from '../rows/seen-keys.ts';

const NOT_A_SKETCH = error('WRONGTYPE Key is not a valid HyperLogLog string value.');
const CORRUPT = error('INVALIDOBJ Corrupted HLL object detected');

/** Why the key cannot be used as a sketch; undefined: it can, or is absent. */
function refusal({ live }: Found): Reply | undefined {
  if (!live) return undefined;
  if (live.type !== 'string') return WRONG_TYPE;
  return isSketch(live.body) ? undefined : NOT_A_SKETCH;
}

interface AddRequest {
  readonly key: Buffer;
  readonly elements: readonly Buffer[];
}

/** PFADD key [element ...] */
function runPfAdd(
  view: WriteView,
  { key, elements }: AddRequest,
  { nowMs }: RunContext,
): RunResult {
  const found = findKey(view, key, nowMs);
  const refused = refusal(found);
  if (refused) return refused;
  let changed = !found.live;
  let sketch: Buffer | 'corrupt' = found.live ? Buffer.from(found.live.body) : emptySketch();
  const add = (element: Buffer) => {
    if (sketch === 'corrupt') return;
    const added = addElement(sketch, element);
    sketch = added === 'corrupt' ? added : added.sketch;
    changed ||= added !== 'corrupt' && added.changed;
  };
  return inSteps(elements, add, () => {
    if (sketch === 'corrupt') return CORRUPT;
    if (changed) markStale(sketch);
    // Redis gives the value an encoding of its own also when nothing changes
    if (changed || found.live?.origin !== 'edited') storeSketch(view, found, sketch);
    if (changed) view.notify?.('string', 'pfadd', key);
    return integer(changed ? 1 : 0);
  });
}

function storeSketch(view: WriteView, found: Found, sketch: Buffer): void {
  storeString(view, found, sketch, found.live?.deadlineMs ?? 0, 'edited');
}

/** PFCOUNT key [key ...] */
function runPfCount(view: View, keys: readonly Buffer[], { nowMs }: RunContext): RunResult {
  return keys.length === 1
    ? countOne(findKey(view, argument(keys, 0), nowMs))
    : atOnce(countMany(view, keys, nowMs));
}

function countOne(found: Found): Reply {
  const refused = refusal(found);
  if (refused) return refused;
  const cached = found.live && cachedCardinality(found.live.body);
  if (cached !== undefined) return integer(cached);
  const registers = new Uint8Array(REGISTERS);
  if (found.live && !mergeInto(registers, found.live.body)) return CORRUPT;
  return integer(estimate(registers));
}

function* countMany(view: View, keys: readonly Buffer[], nowMs: number): Slices<Reply> {
  const merged = yield* mergeAll(view, keys, nowMs);
  return 'kind' in merged ? merged : integer(estimate(merged.registers));
}

/** PFMERGE destkey [sourcekey ...] */
function runPfMerge(view: WriteView, keys: readonly Buffer[], { nowMs }: RunContext): RunResult {
  return atOnce(storeMerged(view, keys, nowMs));
}

function* storeMerged(view: WriteView, keys: readonly Buffer[], nowMs: number): Slices<Reply> {
  const all = yield* mergeAll(view, keys, nowMs);
  if ('kind' in all) return all;
  const target = findKey(view, argument(keys, 0), nowMs);
  const before = target.live ? Buffer.from(target.live.body) : emptySketch();
  const merged = raiseAll(all.dense ? toDense(before) : before, all.registers);
  if (merged === 'corrupt') return CORRUPT;
  markStale(merged);
  storeSketch(view, target, merged);
  view.notify?.('string', 'pfadd', target.key);
  return OK;
}

interface Merged {
  readonly registers: Registers;
  /** One of the sketches is dense. */
  dense: boolean;
}

/** Each takes a tenth of a millisecond: others get their turn in between. */
function* mergeAll(view: View, keys: readonly Buffer[], nowMs: number): Slices<Merged | Reply> {
  const merged: Merged = { registers: new Uint8Array(REGISTERS), dense: false };
  const seen = new SeenKeys();
  let refused: Reply | undefined;
  yield* eachItem(keys, (key) => {
    if (seen.isNew(key)) refused = mergeKey(findKey(view, key, nowMs), merged);
    return refused !== undefined;
  });
  return refused ?? merged;
}

/** Why there is nothing to merge; undefined: it is done. */
function mergeKey(found: Found, merged: Merged): Reply | undefined {
  const refused = refusal(found);
  if (refused || !found.live) return refused;
  merged.dense ||= isDense(found.live.body);
  return mergeInto(merged.registers, found.live.body) ? undefined : CORRUPT;
}

function raiseAll(start: Buffer | 'corrupt', registers: Uint8Array): Buffer | 'corrupt' {
  let sketch = start;
  for (let index = 0; index < REGISTERS; index++) {
    if (sketch === 'corrupt') return 'corrupt';
    if (registers[index] === 0) continue;
    const raised = raiseRegister(sketch, index, registers[index]!);
    sketch = raised === 'corrupt' ? 'corrupt' : raised.sketch;
  }
  return sketch;
}

const column = { categories: ['hyperloglog'], group: 'hyperloglog', since: '2.8.9', arity: -2 };

export const hyperLogLogCommands: readonly Command[] = [
  write({
    ...column,
    name: 'pfadd',
    flags: ['write', 'denyoom', 'fast'],
    keys: FIRST_KEY,
    summary: 'Adds elements to a HyperLogLog. Creates the key if it doesn’t exist.',
    parse: (args) => ({ key: argument(args, 1), elements: args.slice(2) }),
    run: runPfAdd,
  }),
  read({
    ...column,
    name: 'pfcount',
    flags: ['readonly'],
    keys: ALL_KEYS,
    gathers: ['string'],
    summary: 'Returns about how many different elements HyperLogLogs have seen together.',
    parse: (args) => args.slice(1),
    run: runPfCount,
  }),
  write({
    ...column,
    name: 'pfmerge',
    flags: ['write', 'denyoom'],
    keys: ALL_KEYS,
    summary: 'Merges HyperLogLogs into one.',
    parse: (args) => args.slice(1),
    run: runPfMerge,
  }),
  node({
    ...column,
    name: 'pfselftest',
    arity: 1,
    flags: ['admin'],
    keys: NO_KEYS,
    summary: 'Answers OK: what it checks in Redis is checked before a build is released.',
    run: () => OK,
  }),
];
