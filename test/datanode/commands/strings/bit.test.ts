/** BITOP over many strings, and over long ones. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';

const LONG_BYTES = 1_048_576;
const SOURCES = 20;
const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };

/** As an engine that reads values from disk: each time another buffer. */
class FreshValues extends Txn {
  readonly given: WeakRef<ArrayBufferLike>[] = [];

  override get(key: Buffer): Buffer | undefined {
    const value = super.get(key);
    if (value === undefined || value.length < LONG_BYTES) return value;
    const fresh = Buffer.from(value);
    this.given.push(new WeakRef(fresh.buffer));
    return fresh;
  }
}

/** The reply, and at each pause of the run how many values that it has read are still in memory. */
async function run(txn: FreshValues, ...words: string[]) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const args = words.map((word) => Buffer.from(word));
  const command = resolveCommand(args);
  const prepared = command?.kind === 'write' ? command.prepare(args) : undefined;
  if (!prepared?.ok) throw new Error('well formed');
  const result = prepared.run(txn, context);
  if ('kind' in result) return { reply: result as Reply, kept: [0] };
  const kept: number[] = [];
  let seen = 0;
  for (let step = result.next([]); ; step = result.next([])) {
    if (step.done) return { reply: step.value, kept };
    if (txn.given.length === seen) continue;
    seen = txn.given.length;
    await new Promise((resolve) => setTimeout(resolve, 0));
    collect();
    kept.push(txn.given.filter((ref) => ref.deref() !== undefined).length);
  }
}

test.each(['AND', 'OR', 'XOR'])('BITOP %s keeps none of its sources', async (operation) => {
  const partition = await LonePartition.open();
  const keys = Array.from({ length: SOURCES }, (_, at) => `k${at}`);
  for (const key of keys) await partition.call('SET', key, Buffer.alloc(LONG_BYTES, 0x5a));
  const { reply, kept } = await run(
    new FreshValues(partition.engine),
    ...['BITOP', operation, 'to', ...keys],
  );
  expect(reply).toEqual({ kind: 'integer', value: LONG_BYTES });
  expect(kept.length).toBeGreaterThan(SOURCES / 2);
  expect(Math.max(...kept)).toBeLessThan(4);
});

test('a key that is named again and again is read once, unless it makes a difference', async () => {
  const partition = await LonePartition.open();
  await partition.call('SET', 'k', Buffer.alloc(LONG_BYTES, 0x5a));
  const again = Array.from({ length: SOURCES + 1 }, () => 'k');
  const readsOf = async (operation: string) => {
    const txn = new FreshValues(partition.engine);
    txn.beginEntry(1);
    await run(txn, 'BITOP', operation, 'to', ...again);
    return txn.given.length;
  };
  expect(await readsOf('OR')).toBe(1);
  expect(await readsOf('AND')).toBe(1);
  expect(await readsOf('XOR')).toBe(SOURCES + 1);
  const firstByte = async (operation: string, ...keys: string[]) => {
    expect(await partition.call('BITOP', operation, 'to', ...keys)).toMatchObject({
      value: LONG_BYTES,
    });
    const reply = await partition.call('GETRANGE', 'to', '0', '0');
    return reply.kind === 'bulk' ? reply.bytes[0] : reply;
  };
  expect(await firstByte('OR', ...again)).toBe(0x5a);
  expect(await firstByte('AND', ...again, 'none')).toBe(0);
  expect(await firstByte('XOR', ...again)).toBe(0x5a);
  expect(await firstByte('XOR', 'k', 'k')).toBe(0);
});

test('a source of another type is told of, wherever it is, and nothing is stored', async () => {
  const partition = await LonePartition.open();
  await partition.call('SET', 'k', 'x');
  await partition.call('RPUSH', 'l', 'x');
  for (const keys of [
    ['k', 'l'],
    ['l', 'k'],
    ['k', 'k', 'l'],
  ]) {
    expect(await partition.call('BITOP', 'OR', 'to', ...keys)).toMatchObject({ kind: 'error' });
  }
  expect(await partition.call('EXISTS', 'to')).toEqual({ kind: 'integer', value: 0 });
});
