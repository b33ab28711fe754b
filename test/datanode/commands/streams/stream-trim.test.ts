/** XTRIM and XADD that remove much of a long stream. */
import { expect, test } from 'vitest';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { streamIdAt } from '../../../../src/datanode/encoding/records/stream-id.ts';
import { newStream, saveStream } from '../../../../src/datanode/encoding/streams/stream.ts';
import { appendEntry } from '../../../../src/datanode/encoding/streams/stream-entries.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const SIZE = 20_000;
/** The group was given the first and the last. */
const PENDING = 2;

async function scene() {
  const partition = await LonePartition.open();
  const call = async (line: string) => replyText(await partition.call(...line.split(' ')));
  await fill(partition);
  await call('XGROUP CREATE s g 0');
  await call('XREADGROUP GROUP g c COUNT 1 STREAMS s >');
  await call(`XGROUP SETID s g ${SIZE - 1}-0`);
  await call('XREADGROUP GROUP g c COUNT 1 STREAMS s >');
  await call('PEXPIREAT s 1800000000000');
  let changes = 0;
  const write = partition.engine.write.bind(partition.engine);
  partition.engine.write = (operations) => {
    changes = operations.length;
    return write(operations);
  };
  const reads = { pairs: 0 };
  const iterate = partition.engine.iterate.bind(partition.engine);
  partition.engine.iterate = (range) => {
    const iterator = iterate(range);
    const next = iterator.next.bind(iterator);
    iterator.next = async (count) => {
      const pairs = await next(count);
      reads.pairs += pairs.length;
      return pairs;
    };
    return iterator;
  };
  return { partition, call, changes: () => changes, reads };
}

/** As so many XADD would. */
async function fill({ engine }: LonePartition): Promise<void> {
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const stream = newStream(txn, findKey(txn, Buffer.from('s'), 0));
  const fields = [Buffer.from('n'), Buffer.from('v')];
  for (let at = 1; at <= SIZE; at++) appendEntry(txn, stream, streamIdAt(at), fields);
  saveStream(txn, stream);
  await engine.write(txn.operations());
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function expectRest({ call }: Scene, first: number, size: number): Promise<void> {
  const ids = (await call('XRANGE s - +')).match(/\d+-0/g) ?? [];
  expect(ids).toEqual(Array.from({ length: size }, (_, at) => `${first + at}-0`));
  expect(await call('XLEN s')).toBe(`(integer) ${size}`);
  const info = await call('XINFO STREAM s');
  const told = size === 0 ? '0-0' : `${first}-0`;
  expect(info).toContain(`"recorded-first-entry-id"\n-\n  "${told}"`);
  expect(info).toContain(`"last-generated-id"\n-\n  "${first + size - 1}-0"`);
  expect(await call('XPENDING s g - + 10')).toMatch(/"1-0"[\s\S]*"20000-0"/);
  expect(await call('XACK s g 1-0 20000-0')).toBe(`(integer) ${PENDING}`);
  expect(await call('PEXPIRETIME s')).toBe('(integer) 1800000000000');
  expect(await call('XADD s 99999-0 n v')).toBe('"99999-0"');
  expect(await call('XLEN s')).toBe(`(integer) ${size + 1}`);
}

test.each([
  ['XTRIM s MAXLEN 500', 19_500],
  ['XTRIM s MAXLEN 0', SIZE],
  ['XTRIM s MINID 19501', 19_500],
  ['XTRIM s MINID 30000', SIZE],
  ['XTRIM s MAXLEN ~ 510 LIMIT 0', 19_400],
  ['XTRIM s MINID ~ 19490 LIMIT 0', 19_400],
  ['XTRIM s MINID ~ 30000 LIMIT 0', SIZE],
])('%s puts down what stays', async (line, removed) => {
  const at = await scene();
  expect(await at.call(line)).toBe(`(integer) ${removed}`);
  expect(at.changes()).toBeLessThan(SIZE - removed + 20);
  expect(at.partition.events.filter(({ event }) => event === 'xtrim')).toHaveLength(1);
  expect(at.partition.events.filter(({ event }) => event === 'del')).toHaveLength(0);
  await expectRest(at, removed + 1, SIZE - removed);
});

test.each([
  ['XTRIM s MAXLEN ~ 510', 10_000],
  ['XTRIM s MAXLEN ~ 510 LIMIT 250', 200],
  ['XTRIM s MAXLEN 19000', 1_000],
  ['XTRIM s MINID 5', 4],
  ['XTRIM s MINID 1', 0],
  ['XTRIM s MINID ~ 5', 0],
  ['XTRIM s MAXLEN 20000', 0],
])('%s removes the first, one by one', async (line, removed) => {
  const at = await scene();
  expect(await at.call(line)).toBe(`(integer) ${removed}`);
  expect(at.changes()).toBeLessThan(removed + 20);
  await expectRest(at, removed + 1, SIZE - removed);
});

test('XADD trims as well, the new entry among the others', async () => {
  const at = await scene();
  expect(await at.call('XADD s MAXLEN 500 20001-0 n v')).toBe('"20001-0"');
  expect(at.changes()).toBeLessThan(520);
  await expectRest(at, 19_502, 500);
});

test.each([
  ['XTRIM s MAXLEN 0', 10],
  ['XTRIM s MINID 30000', 10],
  ['XTRIM s MAXLEN 500', 1_100],
  ['XADD s MAXLEN 20000 20001-0 n v', 10],
])('%s reads no more than it must', async (line, pairs) => {
  const { call, reads } = await scene();
  await call(line);
  expect(reads.pairs).toBeLessThan(pairs);
});

test('an entry is added without reading any range, and looked up by its ID alone', async () => {
  const { call, reads } = await scene();
  for (const line of [
    'XADD s 20001-0 n v',
    'XADD s MAXLEN 30000 20002-0 n v',
    'XADD s MAXLEN ~ 19950 20003-0 n v',
    'XADD s MINID 1 20004-0 n v',
    'XRANGE s 7-0 7-0',
    'XRANGE s - + COUNT 1',
    'XREVRANGE s + - COUNT 1',
    'XREAD STREAMS s s none $ 20004-0 0',
  ]) {
    await call(line);
    expect(reads.pairs, line).toBe(0);
  }
  await call('XRANGE s 7-0 8-0');
  expect(reads.pairs).toBe(2);
});
