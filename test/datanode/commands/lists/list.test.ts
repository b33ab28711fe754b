/** What lists cost: how much of the engine a command reads, whatever the list's length. */
import { beforeAll, describe, expect, test } from 'vitest';
import { keysOf } from '../../../../src/datanode/commands/rows/command.ts';
import { findCommand } from '../../../../src/datanode/commands/table/table.ts';
import {
  decodeElement,
  NO_FRACTION,
  newShape,
  type OpenList,
  openList,
  putElement,
  readList,
  saveList,
} from '../../../../src/datanode/encoding/lists/list.ts';
import {
  encodeListKey,
  LIST_ORIGIN,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyRange } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';

const LENGTH = 100_000;
const NOW = 1_700_000_000_000;

/** Counts point reads and pairs of ranges. */
function counting(engine: Engine, reads: { points: number; pairs: number }): Engine {
  return {
    getSync(key) {
      reads.points++;
      return engine.getSync(key);
    },
    iterate(range: KeyRange) {
      const iterator = engine.iterate(range);
      return {
        async next(count) {
          const pairs = await iterator.next(count);
          reads.pairs += pairs.length;
          return pairs;
        },
        close: () => iterator.close(),
      };
    },
    snapshot: () => engine.snapshot(),
    approximateBytes: () => engine.approximateBytes(),
    write: (operations) => engine.write(operations),
    clearRange: (range) => engine.clearRange(range),
    sync: () => engine.sync(),
    close: () => engine.close(),
  };
}

async function longList(): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  const list = openList(txn, Buffer.from('l'), NOW) as OpenList;
  for (let at = 0; at < LENGTH; at++) {
    const place = { whole: LIST_ORIGIN + at, fraction: NO_FRACTION };
    putElement(txn, encodeListKey(list.place, place), Buffer.from(`${at}`));
  }
  list.size = LENGTH;
  list.shape = { ...newShape(), tail: LIST_ORIGIN + LENGTH - 1, listpackBytes: LENGTH * 6 };
  saveList(txn, list);
  await engine.write(txn.operations());
  return engine;
}

describe('in a list of 100,000 elements', () => {
  const reads = { points: 0, pairs: 0 };
  let partition: LonePartition;
  const call = async (line: string): Promise<Reply> => {
    Object.assign(reads, { points: 0, pairs: 0 });
    return partition.call(...line.split(' '));
  };

  beforeAll(async () => {
    partition = new LonePartition(counting(await longList(), reads), NOW);
  });

  test.each([
    'LPUSH l a b c',
    'RPUSH l a b c',
    'LPOP l',
    'RPOP l',
    'LPOP l 5',
    'LLEN l',
    'LINDEX l 50000',
    'LINDEX l -3',
    'LSET l 60000 x',
    'LRANGE l 70000 70020',
    'LMOVE l l LEFT RIGHT',
    'RPOPLPUSH l other',
    'LMPOP 2 none l RIGHT COUNT 4',
    'LTRIM l 3 -4',
    'LTRIM l 0 -1',
  ])('%s reads points only, and few', async (line) => {
    expect((await call(line)).kind).not.toBe('error');
    expect(reads.pairs).toBe(0);
    expect(reads.points).toBeLessThanOrEqual(30);
  });

  test('a range reads what it answers, and a walk as far as it must', async () => {
    await call('LRANGE l 50000 50999');
    expect(reads).toEqual({ points: 1, pairs: 1_000 });
    await call('LRANGE l -1000 -1');
    expect(reads).toEqual({ points: 1, pairs: 1_000 });
    await call('LPOS l 30');
    expect(reads.pairs).toBeLessThan(2_000);
    await call('LPOS l 99970 RANK -1 MAXLEN 1000');
    expect(reads.pairs).toBeLessThan(2_000);
    await call('LINSERT l BEFORE 30 new');
    expect(reads.points + reads.pairs).toBeLessThan(2_000);
  });

  test('a trim to a few elements reads those alone, wherever they are', async () => {
    await call('LTRIM l 50000 50004');
    expect(reads.pairs + reads.points).toBeLessThan(20);
    const view = createView(partition.engine);
    const list = readList(view, Buffer.from('l'), NOW) as OpenList;
    const at = encodeListKey(list.place, { whole: list.shape.head, fraction: NO_FRACTION });
    expect(decodeElement(at, view.get(at)!).toString()).toMatch(/^50\d{3}$/);
    await call('LTRIM l 1 0');
    expect(reads.pairs).toBe(0);
    expect(await call('LLEN l')).toEqual({ kind: 'integer', value: 0 });
  });
});

describe('in a sparse list of 100,000 elements', () => {
  const reads = { points: 0, pairs: 0 };
  let partition: LonePartition;
  beforeAll(async () => {
    partition = new LonePartition(counting(await longList(), reads), NOW);
    await partition.call('LREM', 'l', '1', '50000');
    await partition.call('LINSERT', 'l', 'BEFORE', '40000', 'new');
    const list = readList(createView(partition.engine), Buffer.from('l'), NOW) as OpenList;
    expect(list.shape.sparse).toBe(true);
  });

  test.each([
    'LPUSH l a b c',
    'RPUSH l a b c',
    'LPOP l',
    'RPOP l',
    'LPOP l 5',
    'LLEN l',
    'LINDEX l 3',
    'LINDEX l -3',
    'LSET l -5 x',
    'LRANGE l -20 -1',
    'LMOVE l l LEFT RIGHT',
    'LTRIM l 3 -4',
  ])('%s reads little', async (line) => {
    Object.assign(reads, { points: 0, pairs: 0 });
    expect((await partition.call(...line.split(' '))).kind).not.toBe('error');
    expect(reads.points + reads.pairs).toBeLessThanOrEqual(30);
  });
});

test('the keys of LMPOP are those it counts', () => {
  const keys = (line: string) => {
    const args = line.split(' ').map((word) => Buffer.from(word));
    return keysOf(findCommand(args[0]!)!, args).map(String);
  };
  expect(keys('LMPOP 2 a b LEFT COUNT 3')).toEqual(['a', 'b']);
  expect(keys('LMPOP 1 a LEFT')).toEqual(['a']);
  expect(keys('LMPOP 0 a LEFT')).toEqual([]);
  expect(keys('LMPOP x a LEFT')).toEqual([]);
});
