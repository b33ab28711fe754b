import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { redisDataRange } from '../../../../src/datanode/encoding/records/key.ts';
import {
  flushScripts,
  hasScript,
  isScriptKey,
  type KeptFor,
  keepScript,
  scriptBody,
  scriptTotals,
} from '../../../../src/datanode/encoding/scripts/kept-scripts.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

let engine: Engine;
let txn: Txn;

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  txn = new Txn(engine);
});

function shaOf(body: Buffer): string {
  return createHash('sha1').update(body).digest('hex');
}

function keep(body: Buffer | string, why: KeptFor): boolean {
  const bytes = Buffer.from(body);
  return keepScript(txn, shaOf(bytes), bytes, why);
}

function has(body: Buffer | string): boolean {
  return hasScript(txn, shaOf(Buffer.from(body)));
}

async function flush(): Promise<void> {
  const run = flushScripts(txn);
  for (let step = run.next(); !step.done; ) step = run.next(await txn.range(step.value));
}

async function stored(): Promise<readonly string[]> {
  await engine.write(txn.operations());
  txn = new Txn(engine);
  const all = { gte: Buffer.from([1]), lt: Buffer.from([0xff]) };
  const pairs = await engine.iterate(all).next(100_000);
  return pairs
    .map(([key]) => key)
    .filter(isScriptKey)
    .map((key) => key.toString('latin1', 1));
}

/** Evaluated ones that fill what there is for scripts, each of a hundredth. */
const PART_BYTES = limits.scriptsBytesMax / 100 - 256;
function part(at: number): Buffer {
  return Buffer.alloc(PART_BYTES, String(at).padEnd(8));
}

test('the body is kept as it came, whatever its bytes', async () => {
  const body = Buffer.from([0, 0xff, 0x0a, 0x80, 0]);
  expect(has('')).toBe(false);
  expect(scriptBody(txn, shaOf(body))).toBeUndefined();
  expect(keep(body, 'evaluated')).toBe(true);
  await stored();
  expect(hasScript(createView(engine), shaOf(body))).toBe(true);
  expect(scriptBody(createView(engine), shaOf(body))).toEqual(body);
});

test('what is kept already changes nothing', async () => {
  keep('return 1', 'evaluated');
  keep('return 2', 'loaded');
  await stored();
  keep('return 1', 'evaluated');
  keep('return 2', 'evaluated');
  keep('return 2', 'loaded');
  expect(txn.operations()).toEqual([]);
});

test('the oldest evaluated ones go beyond so many, and those that are loaded stay', () => {
  keep('loaded', 'loaded');
  for (let at = 0; at <= limits.scriptsEvaluatedMax; at++) keep(`return ${at}`, 'evaluated');
  expect([has('loaded'), has('return 0'), has('return 1')]).toEqual([true, false, true]);
  expect(scriptTotals(txn)).toMatchObject({ loaded: 1, evaluated: limits.scriptsEvaluatedMax });
  keep('return 1', 'loaded');
  keep('one more', 'evaluated');
  keep('and another', 'evaluated');
  expect([has('return 1'), has('return 2'), has('return 3')]).toEqual([true, false, true]);
  expect(scriptTotals(txn)).toMatchObject({ loaded: 2, evaluated: limits.scriptsEvaluatedMax });
});

test('the oldest evaluated ones go beyond so many bytes, also for one that is loaded', () => {
  for (let at = 0; at < 100; at++) expect(keep(part(at), 'evaluated')).toBe(true);
  expect(scriptTotals(txn).bytes).toBeLessThanOrEqual(limits.scriptsBytesMax);
  expect(has(part(0))).toBe(true);
  expect(keep(part(100), 'evaluated')).toBe(true);
  expect([has(part(0)), has(part(1)), has(part(100))]).toEqual([false, true, true]);
  expect(keep(part(101), 'loaded')).toBe(true);
  expect([has(part(1)), has(part(2)), has(part(101))]).toEqual([false, true, true]);
});

test('where loaded ones take all the room there is none, and nothing is removed', async () => {
  keep(part(0), 'evaluated');
  for (let at = 1; at < 100; at++) expect(keep(part(at), 'loaded')).toBe(true);
  expect(keep(part(0), 'loaded')).toBe(true);
  const before = await stored();
  expect(keep(part(100), 'loaded')).toBe(false);
  expect(keep('return 1', 'evaluated')).toBe(false);
  expect(txn.operations()).toEqual([]);
  expect(await stored()).toEqual(before);
  await flush();
  expect(keep('return 1', 'evaluated')).toBe(true);
});

test('a flush leaves nothing of them, nor of what counts them', async () => {
  for (let at = 0; at < 300; at++) keep(`return ${at}`, at % 2 === 0 ? 'loaded' : 'evaluated');
  const records = await stored();
  expect(records).toHaveLength(300 * 2 + 150 + 1);
  await flush();
  expect([has('return 0'), has('return 1')]).toEqual([false, false]);
  expect(await stored()).toEqual([]);
  expect(scriptTotals(txn)).toMatchObject({ loaded: 0, evaluated: 0, bytes: 0 });
});

test('no record of them is of what FLUSHALL clears, and no other record is of them', async () => {
  keep('return 1', 'evaluated');
  for (const { key } of txn.operations()) {
    expect([isScriptKey(key), key < redisDataRange().gte]).toEqual([true, true]);
  }
  for (const name of ['state', 'scrip', 'sessions']) {
    expect(isScriptKey(Buffer.from(`\u0001${name}`))).toBe(false);
  }
  expect(isScriptKey(Buffer.from('\u0010script:'))).toBe(false);
});

test('formats are frozen', async () => {
  keep('return 1', 'evaluated');
  const sha = shaOf(Buffer.from('return 1'));
  const written = txn.operations().map((operation) => {
    const value = operation.type === 'put' ? operation.value.subarray(0, -4) : Buffer.alloc(0);
    return `${operation.key.toString('latin1', 1)} ${value.toString('hex')}`;
  });
  expect(written).toEqual([
    `script:${sha} 0100000001080000000000000000`,
    `script-body:${sha} 01${Buffer.from('return 1').toString('hex')}`,
    `script-order:0000000000000000 01${Buffer.from(sha).toString('hex')}`,
    'scripts 01' +
      '00000000' +
      '00000001' +
      '0000000000000108' +
      '0000000000000000'.repeat(2) +
      '0000000000000001',
  ]);
});

test('a version that is not known is no script', () => {
  keep('return 1', 'evaluated');
  const sha = shaOf(Buffer.from('return 1'));
  txn.put(Buffer.from(`\u0001script:${sha}`), Buffer.from('020000000000', 'hex'));
  expect(() => has('return 1')).toThrow('version 2 unknown; upgrade kvorum on this node');
});
