import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Collection } from '../../../../src/datanode/encoding/collections/collection.ts';
import { RankTree } from '../../../../src/datanode/encoding/ranks/rank-tree.ts';
import {
  flagsOfZset,
  type OpenZset,
  zsetFlags,
} from '../../../../src/datanode/encoding/ranks/zset-header.ts';
import { countBefore, keyAtRank } from '../../../../src/datanode/encoding/ranks/zset-index.ts';
import {
  elementRange,
  encodeScoreKey,
  scoreOrder,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { createView, readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import {
  dropMember,
  type Entry,
  openZset,
  putScore,
  readZset,
  saveZset,
  scoreOf,
} from '../../../../src/datanode/encoding/zsets/zset.ts';
import type { Engine, KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const KEY = Buffer.from('z');
const NOW = 1_000;

type Walk<Result> = Generator<KeyRange, Result, readonly KeyValue[]>;

async function drive<Result>(
  walk: Walk<Result>,
  read: (range: KeyRange) => Promise<readonly KeyValue[]>,
): Promise<Result> {
  let step = walk.next();
  while (!step.done) step = walk.next(await read(step.value));
  return step.value;
}

class Subject {
  readonly engine: Engine;
  readonly scores = new Map<string, number>();
  #index = 0;
  /** Ranges that writes have read. */
  ranges = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  static async open(): Promise<Subject> {
    return new Subject((await createMemoryHost().open('1-0')).engine);
  }

  /** One command: a score of undefined removes the member. */
  async change(changes: readonly (readonly [string, number | undefined])[]): Promise<void> {
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    const zset = openZset(txn, KEY, NOW) as OpenZset;
    for (const [name, score] of changes) {
      const member = Buffer.from(name);
      const before = scoreOf(txn, zset.place, member);
      if (score !== undefined && score !== before) {
        putScore(txn, zset, member, score, before);
        this.scores.set(name, score);
      } else if (score === undefined && before !== undefined) {
        dropMember(txn, zset, { member, score: before });
        this.scores.delete(name);
      }
    }
    const saving = saveZset(txn, zset);
    if (saving) {
      await drive(saving, async (range) => {
        this.ranges++;
        return [...(await txn.range(range))];
      });
    }
    await this.engine.write(txn.operations());
  }

  get sorted(): Entry[] {
    const entries = [...this.scores].map(([name, score]) => ({ member: Buffer.from(name), score }));
    return entries.sort((a, b) => a.score - b.score || a.member.compare(b.member));
  }

  get zset(): Collection | undefined {
    return readZset(createView(this.engine), KEY, NOW) as Collection | undefined;
  }

  async rankOf(entry: Entry): Promise<number> {
    const zset = this.zset!;
    const key = encodeScoreKey(zset.place, entry.score, entry.member);
    return drive(countBefore(createView(this.engine), zset, key), (range) =>
      readRange(this.engine, range),
    );
  }

  async keyAt(rank: number): Promise<Buffer | undefined> {
    const view = createView(this.engine);
    return drive(keyAtRank(view, this.zset!, rank), (range) => readRange(this.engine, range));
  }

  async blockRecords(): Promise<number> {
    const zset = this.zset;
    if (zset === undefined) return 0;
    return (await readRange(this.engine, elementRange(tags.zsetBlock, zset.place))).length;
  }

  async agrees(step = 37): Promise<void> {
    const { sorted, zset } = this;
    expect(zset?.size ?? 0).toBe(sorted.length);
    for (let rank = 0; rank < sorted.length; rank += step) {
      const entry = sorted[rank]!;
      expect(await this.rankOf(entry)).toBe(rank);
      expect(await this.keyAt(rank)).toEqual(
        encodeScoreKey(zset!.place, entry.score, entry.member),
      );
    }
    if (zset) expect(await this.keyAt(sorted.length)).toBeUndefined();
  }
}

const isCounted = (zset: Collection) => (flagsOfZset(zset) & zsetFlags.counted) !== 0;

test('ranks are those of a sorted array, whatever comes and goes', async () => {
  const score = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ noNaN: true }));
  const name = fc.integer({ max: 6_000, min: 0 }).map((number) => `member:${number}`);
  const added = fc.array(fc.tuple(name, score), { minLength: 900, maxLength: 2_500, size: 'max' });
  const removed = fc.array(
    name.map((each) => [each, undefined] as const),
    { minLength: 500, maxLength: 4_000, size: 'max' },
  );
  const change = fc.oneof({ weight: 2, arbitrary: added }, removed);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 2, maxLength: 6 }), async (changes) => {
      const subject = await Subject.open();
      for (const each of changes) {
        await subject.change(each);
        await subject.agrees();
      }
      await subject.change([...subject.scores.keys()].map((each) => [each, undefined]));
      expect(subject.zset).toBeUndefined();
    }),
    { numRuns: 6 },
  );
});

describe('a large set', () => {
  test('grows one by one from either end, and goes, leaving nothing', async () => {
    const subject = await Subject.open();
    for (let at = 0; at < 30; at++) {
      const names = Array.from({ length: 1_000 }, (_, i) => at * 1_000 + i);
      await subject.change(names.map((n) => [`m${n}`, n % 2 === 0 ? n : -n]));
    }
    expect(isCounted(subject.zset!)).toBe(true);
    await subject.agrees(1_003);
    const gone = [...subject.scores.keys()];
    while (gone.length > 0) {
      const left = gone.length > 100 ? Math.max(100, gone.length - 4_300) : 0;
      await subject.change(gone.splice(left).map((name) => [name, undefined]));
      await subject.agrees(5_003);
      if (left !== 100) continue;
      expect(isCounted(subject.zset!)).toBe(false);
      expect(await subject.blockRecords()).toBe(0);
    }
    const everything = { gte: Buffer.from([0x10]), lt: Buffer.from([0x40]) };
    expect(await readRange(subject.engine, everything)).toEqual([]);
  });

  test('of 100,000 costs a bounded number of reads for each rank, score and change', async () => {
    const subject = await Subject.open();
    const names = Array.from({ length: 100_000 }, (_, n) => n);
    await subject.change(names.map((n) => [`m${n}`, (n * 7_919) % 100_003]));
    let gets = 0;
    let pairs = 0;
    const counting = (read: (range: KeyRange) => Promise<readonly KeyValue[]>) => {
      return async (range: KeyRange) => {
        const found = await read(range);
        pairs += found.length;
        return found;
      };
    };
    const view = createView({
      ...subject.engine,
      getSync(key: Buffer) {
        gets++;
        return subject.engine.getSync(key);
      },
    } as Engine);
    const zset = readZset(view, KEY, NOW) as Collection;
    for (const entry of subject.sorted.filter((_, at) => at % 9_973 === 0)) {
      gets = 0;
      pairs = 0;
      const key = encodeScoreKey(zset.place, entry.score, entry.member);
      await drive(
        countBefore(view, zset, key),
        counting((range) => readRange(subject.engine, range)),
      );
      expect(gets).toBeLessThanOrEqual(6);
      expect(pairs).toBeLessThanOrEqual(512);
      expect(scoreOf(view, zset.place, entry.member)).toBe(entry.score);
      expect(gets).toBeLessThanOrEqual(7);
    }
    subject.ranges = 0;
    for (let at = 0; at < 100; at++) await subject.change([[`new${at}`, at * 977]]);
    // a block may have been full
    expect(subject.ranges).toBeLessThanOrEqual(20);
    await subject.agrees(4_001);
  });
});

test('a tree that is split and joined in memory tells the same as one that was written', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const place = { slot: 7, version: { index: 1, ordinal: 0 } };
  const order = (score: number) =>
    Buffer.from(scoreOrder(encodeScoreKey(place, score, Buffer.alloc(0))));
  const txn = new Txn(engine);
  const tree = RankTree.create(txn, place, 1_000_000);
  const blocks = 2_000;
  const bounds = Array.from({ length: blocks - 1 }, (_, at) => order((at + 1) * 500));
  tree.split(order(0), new Array<number>(blocks).fill(500), bounds);
  tree.flush(txn);
  const written = new RankTree(txn, place);
  for (const each of [tree, written]) {
    for (let at = 0; at < blocks; at += 7) {
      const block = each.blockOf(order(at * 500 + 250));
      expect(block.before).toBe(at * 500);
      expect(block.count).toBe(500);
      expect(each.blockAtRank(at * 500 + 499).before).toBe(at * 500);
    }
  }
});
