/** A value decoded from a DUMP, put into the view by what its type's own writes are made of. */
import type { SteadyList } from '../../../common/steady-list.ts';
import { newCollection } from '../collections/collection.ts';
import { expectFields, reopenHash, saveHash, setField, setFieldDeadline } from '../hashes/hash.ts';
import { storeJson } from '../json/json-document.ts';
import { parseJson } from '../json/json-parse.ts';
import type { Found } from '../keyspace/keyspace.ts';
import { growEncoding, newShape, pushElement, saveList } from '../lists/list.ts';
import { addMember, newSet, saveSet } from '../sets/set.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import { storeString } from '../strings/string.ts';
import type { WriteView } from '../txn/view.ts';
import { saveZset } from '../zsets/zset.ts';
import { buildZset, ScoredList } from '../zsets/zset-build.ts';
import type { RdbValue } from './rdb-decode.ts';
import { storeRdbStream } from './rdb-stream-store.ts';

type Pair<Value> = readonly [member: Buffer, value: Value];

/** When a value ends (`deadlineMs` 0: never), and as of when its fields are looked at. */
export interface StoreTimes {
  readonly nowMs: number;
  readonly deadlineMs: number;
}

/** Takes the place of whatever is under the key. */
export function* storeRdbValue(
  view: WriteView,
  found: Found,
  value: RdbValue,
  times: StoreTimes,
): Slices<void> {
  const { deadlineMs } = times;
  switch (value.type) {
    case 'string':
      storeString(view, found, value.bytes, deadlineMs);
      break;
    case 'json':
      yield* storeJson(view, found, yield* parseJson(value.bytes), deadlineMs);
      break;
    case 'list':
      yield* storeList(view, found, value.elements, deadlineMs);
      break;
    case 'set': {
      const set = newSet(view, found);
      yield* eachItem(value.elements, (member) => {
        addMember(view, set, member);
      });
      set.collection.deadlineMs = deadlineMs;
      saveSet(view, set);
      break;
    }
    case 'hash':
      yield* storeHash(view, found, value, times);
      break;
    case 'zset':
      yield* storeZset(view, found, value.elements, deadlineMs);
      break;
    case 'stream':
      yield* storeRdbStream(view, found, value, deadlineMs);
      break;
  }
}

function* storeList(
  view: WriteView,
  found: Found,
  elements: SteadyList<Buffer>,
  deadlineMs: number,
): Slices<void> {
  const list = { ...newCollection(view, found, 'list'), deadlineMs, shape: newShape() };
  growEncoding(list, elements);
  yield* eachItem(elements, (element) => {
    pushElement(view, list, 'right', element);
  });
  saveList(view, list);
}

/** Fields that have expired are left out. */
function* storeHash(
  view: WriteView,
  found: Found,
  { elements, mayExpire }: Extract<RdbValue, { type: 'hash' }>,
  { nowMs, deadlineMs }: StoreTimes,
): Slices<void> {
  const hash = reopenHash(newCollection(view, found, 'hash'), nowMs);
  expectFields(hash, elements.length);
  // Redis's has it from the beginning, and never goes back to one without deadlines
  if (mayExpire && hash.encoding === 'listpack') hash.encoding = 'listpackex';
  yield* eachItem(elements, ([name, value, fieldMs]) => {
    if (fieldMs > 0 && fieldMs <= nowMs) return;
    setField(view, hash, name, value);
    if (fieldMs > 0) setFieldDeadline(view, hash, name, { value, deadlineMs: 0 }, fieldMs);
  });
  hash.collection.deadlineMs = deadlineMs;
  saveHash(view, hash, undefined);
}

function* storeZset(
  view: WriteView,
  found: Found,
  elements: SteadyList<Pair<number>>,
  deadlineMs: number,
): Slices<void> {
  const scored = new ScoredList();
  yield* eachItem(elements, ([member, score]) => {
    scored.add({ name: member.toString('latin1'), score });
  });
  const zset = yield* buildZset(view, found, scored);
  zset.deadlineMs = deadlineMs;
  const later = saveZset(view, zset);
  if (later !== undefined) yield* later;
}
