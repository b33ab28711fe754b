/** An expire entry deletes what is due when it is applied, whatever was when it was proposed. */
import { expect, test } from 'vitest';
import { expireKeys } from '../../../../src/datanode/encoding/expiry/expiry.ts';
import {
  findKey,
  removeKey,
  setDeadline,
} from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { readCounts } from '../../../../src/datanode/encoding/records/system.ts';
import { GLANCE } from '../../../../src/datanode/encoding/steps/slices.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const [BEFORE_MS, DEADLINE_MS, LATER_MS] = [100, 500, 900];
const KEY = Buffer.from('k');

/** `change` comes in the log between the proposal of an entry, of a key that is due, and itself. */
async function afterwards(change: (txn: Txn) => void, nowMs = DEADLINE_MS) {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  storeString(txn, findKey(txn, KEY, BEFORE_MS), Buffer.from('v'), DEADLINE_MS);
  change(txn);
  const run = expireKeys(txn, [{ key: KEY, deadlineMs: DEADLINE_MS }], nowMs);
  let step = run.next();
  while (!step.done) step = run.next(await txn.range(step.value));
  const value = findKey(txn, KEY, BEFORE_MS).stored?.body.toString();
  return { removed: step.value.keys, value, counts: readCounts(txn) };
}

const live = (txn: Txn) => findKey(txn, KEY, BEFORE_MS);

test('a key whose deadline has passed goes', async () => {
  const counts = { keys: 0, expires: 0 };
  expect(await afterwards(() => {})).toEqual({ removed: 1, value: undefined, counts });
});

test('a key stays that got another deadline meanwhile, or none', async () => {
  const moved = await afterwards((txn) => setDeadline(txn, live(txn), live(txn).live!, LATER_MS));
  expect(moved).toEqual({ removed: 0, value: 'v', counts: { keys: 1, expires: 1 } });
  const kept = await afterwards((txn) => setDeadline(txn, live(txn), live(txn).live!, 0));
  expect(kept).toEqual({ removed: 0, value: 'v', counts: { keys: 1, expires: 0 } });
});

test('a key stays that was written anew', async () => {
  const anew = await afterwards((txn) => storeString(txn, live(txn), Buffer.from('new'), 0));
  expect(anew).toEqual({ removed: 0, value: 'new', counts: { keys: 1, expires: 0 } });
});

test('a key that is gone, or whose other deadline has passed as well, is no exception', async () => {
  const gone = await afterwards((txn) => removeKey(txn, live(txn)));
  expect(gone).toEqual({ removed: 0, value: undefined, counts: { keys: 0, expires: 0 } });
  const late = await afterwards(
    (txn) => setDeadline(txn, live(txn), live(txn).live!, LATER_MS),
    LATER_MS,
  );
  expect(late).toEqual({ removed: 1, value: undefined, counts: { keys: 0, expires: 0 } });
});

test('others may have their turn between any two keys', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const keys = Array.from({ length: 70 }, (_, at) => Buffer.from(`k${at}`));
  for (const key of keys) storeString(txn, findKey(txn, key, BEFORE_MS), key, DEADLINE_MS);
  const run = expireKeys(
    txn,
    keys.map((key) => ({ key, deadlineMs: DEADLINE_MS })),
    LATER_MS,
  );
  const asked: unknown[] = [];
  let step = run.next();
  for (; !step.done; step = run.next([])) asked.push(step.value);
  expect(step.value).toEqual({ keys: keys.length, fields: 0 });
  expect(asked.length).toBe(keys.length - 1);
  expect(asked.filter((range) => range !== GLANCE).length).toBe(1);
});
