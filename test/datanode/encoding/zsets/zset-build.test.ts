import { describe, expect, test } from 'vitest';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import {
  encodingOfZset,
  type OpenZset,
} from '../../../../src/datanode/encoding/ranks/zset-header.ts';
import { NOTHING, type Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import {
  newZset,
  openZset,
  putScore,
  saveZset,
  scoreOf,
} from '../../../../src/datanode/encoding/zsets/zset.ts';
import { buildZset, ScoredList } from '../../../../src/datanode/encoding/zsets/zset-build.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const KEY = Buffer.from('z');
const NOW = 1_000;

type Scores = readonly (readonly [name: string, score: number])[];

/** All records that a transaction leaves in an engine of its own, as text. */
async function recordsOf(make: (txn: Txn) => Slices<OpenZset>): Promise<readonly string[]> {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(7);
  const zset = await drive(make(txn), txn);
  const saving = saveZset(txn, zset);
  if (saving !== undefined) await drive(saving, txn);
  await engine.write(txn.batch());
  return allOf(engine);
}

async function drive<Result>(walk: Slices<Result>, txn: Txn): Promise<Result> {
  let step = walk.next();
  while (!step.done) step = walk.next([...(await txn.range(step.value))]);
  return step.value;
}

async function allOf(engine: Engine): Promise<readonly string[]> {
  const iterator = engine.iterate({ gte: Buffer.alloc(0), lt: Buffer.alloc(8, 0xff) });
  const records: string[] = [];
  for (let pairs = await iterator.next(1_000); pairs.length > 0; ) {
    for (const [key, value] of pairs) {
      records.push(`${key.toString('hex')} ${value.toString('hex')}`);
    }
    pairs = await iterator.next(1_000);
  }
  await iterator.close();
  return records;
}

const built = (scores: Scores) => (txn: Txn) => {
  const scored = new ScoredList();
  for (const [name, score] of scores) scored.add({ name, score });
  return buildZset(txn, findKey(txn, KEY, NOW), scored);
};

/** As ZADD would, into a set that is large if it will be. */
const addedOneByOne = (scores: Scores) =>
  function* add(txn: Txn): Slices<OpenZset> {
    const zset = newZset(txn, findKey(txn, KEY, NOW));
    for (const [name, score] of scores) {
      putScore(txn, zset, Buffer.from(name, 'latin1'), score, undefined);
    }
    yield NOTHING;
    return zset;
  };

const orders: Readonly<Record<string, (at: number, count: number) => number>> = {
  rising: (at) => at / 4,
  falling: (at) => -1 - at,
  mixed: (at, count) => (at * 7_919) % count,
  equal: () => 5,
};

describe('a set that is built as a whole', () => {
  test('has the records that its members leave when they come one by one', async () => {
    for (const count of [1, 2, 128, 129, 512, 513, 639, 640, 641, 3_000]) {
      for (const [order, scoreAt] of Object.entries(orders)) {
        const scores: Scores = Array.from({ length: count }, (_, at) => [
          `m\xff${at}`,
          scoreAt(at, count),
        ]);
        const records = await recordsOf(built(scores));
        const expected = await recordsOf(addedOneByOne(scores));
        expect(records.join('\n') === expected.join('\n'), `${count} ${order}`).toBe(true);
        expect(records.length).toBeGreaterThan(2 * count);
      }
    }
  });

  test('keeps a −0 where it is large, as one long member makes it', async () => {
    const { engine } = await createMemoryHost().open('1-0');
    for (const [long, encoding, zero] of [
      [64, 'listpack', 0],
      [65, 'skiplist', -0],
    ] as const) {
      const txn = new Txn(engine);
      txn.beginEntry(long);
      const names = ['a', 'b'.repeat(long)];
      const zset = await drive(built(names.map((name) => [name, -0]))(txn), txn);
      expect(encodingOfZset(zset)).toBe(encoding);
      for (const name of names) expect(scoreOf(txn, zset.place, Buffer.from(name))).toBe(zero);
    }
  });

  test('can be changed in the same transaction', async () => {
    const { engine } = await createMemoryHost().open('1-0');
    const txn = new Txn(engine);
    txn.beginEntry(1);
    const scores = Array.from({ length: 3_000 }, (_, at) => [`m${at}`, at] as const);
    const zset = await drive(built(scores)(txn), txn);
    expect(saveZset(txn, zset)).toBeUndefined();
    const again = openZset(txn, KEY, NOW) as OpenZset;
    for (let at = 0; at < 600; at++) putScore(txn, again, Buffer.from(`n${at}`), 1.5, undefined);
    const saving = saveZset(txn, again);
    expect(saving).toBeDefined();
    await drive(saving!, txn);
    expect((openZset(txn, KEY, NOW) as OpenZset).size).toBe(3_600);
  });
});
