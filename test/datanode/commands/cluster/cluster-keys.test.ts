import { beforeEach, expect, test } from 'vitest';
import { slotOfKey } from '../../../../src/common/hash.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

let partition: LonePartition;
beforeEach(async () => {
  partition = await LonePartition.open();
});

const ask = async (line: string) => replyText(await partition.call(...line.split(' ')));
const SLOT = slotOfKey(Buffer.from('{tag}'));

test('the live keys of a slot are counted and named, and no others', async () => {
  const keys = ['{tag}a', '{tag}b', 'tag', '{tag}set'];
  for (const key of keys.slice(0, 3)) await ask(`SET ${key} 1`);
  await ask('SADD {tag}set x y');
  await ask('SET elsewhere 1');
  await ask('SET {tag}gone 1 PX 5');
  partition.nowMs += 10;
  expect(await ask(`CLUSTER COUNTKEYSINSLOT ${SLOT}`)).toBe('(integer) 4');
  const named = await ask(`CLUSTER GETKEYSINSLOT ${SLOT} 10`);
  expect(named.match(/"[^"]*"/g)!.sort()).toEqual(keys.map((key) => JSON.stringify(key)).sort());
  for (const next of [SLOT - 1, SLOT + 1]) {
    expect(await ask(`CLUSTER COUNTKEYSINSLOT ${next}`)).toBe('(integer) 0');
    expect(await ask(`CLUSTER GETKEYSINSLOT ${next} 10`)).toBe('(empty)');
  }
});

test('no more keys are named than are asked for', async () => {
  const keys = Array.from({ length: 1_000 }, (_, at) => `{tag}${at}`);
  for (const key of keys) await ask(`SET ${key} 1`);
  expect(await ask(`CLUSTER COUNTKEYSINSLOT ${SLOT}`)).toBe('(integer) 1000');
  for (const [count, given] of [
    ['0', 0],
    ['1', 1],
    ['999', 999],
    ['1000', 1_000],
    ['9223372036854775807', 1_000],
  ] as const) {
    const named = await ask(`CLUSTER GETKEYSINSLOT ${SLOT} ${count}`);
    const found = named.match(/"[^"]*"/g) ?? [];
    expect(new Set(found).size).toBe(given);
    expect(found.length).toBe(given);
  }
});
