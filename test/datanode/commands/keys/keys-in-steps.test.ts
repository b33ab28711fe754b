/** Commands over thousands of keys: others have their turn between keys, and between lookups. */
import { beforeAll, expect, test } from 'vitest';
import { gatherLine, gatherRow } from '../../../../src/datanode/commands/cluster/gather.ts';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { GLANCE } from '../../../../src/datanode/encoding/steps/slices.ts';
import { ReadAhead } from '../../../../src/datanode/encoding/txn/read-ahead.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';

const COUNT = 1_000;
const each = (word: string) => Array.from({ length: COUNT }, () => word);
const nothing = Array.from({ length: COUNT }, (_, at) => `none${at}`);
const number = String(COUNT);
let partition: LonePartition;

beforeAll(async () => {
  partition = await LonePartition.open();
  await partition.call('SADD', 's', 'a');
  await partition.call('SADD', 'other', 'b');
  await partition.call('ZADD', 'z', '1', 'a');
  await partition.call('ZADD', 'y', '1', 'b');
});

/** How often the command looks whether others are to have their turn, and what it answers. */
async function glancesOf(args: readonly Buffer[]) {
  const command = resolveCommand(args) ?? gatherRow(args);
  const prepared =
    command === undefined || command.kind === 'node' ? undefined : command.prepare(args);
  if (!prepared?.ok) throw new Error('well formed');
  const txn = new Txn(partition.engine);
  txn.beginEntry(2_000_000);
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  const result = prepared.run(txn, context);
  if ('kind' in result) return { glances: 0, kind: result.kind };
  const source = new ReadAhead(partition.engine);
  let glances = 0;
  let step = result.next([]);
  while (!step.done) {
    if (step.value === GLANCE) glances++;
    step = result.next(await source.range(step.value));
  }
  return { glances, kind: step.value.kind };
}

test.each([
  ['SINTER', ...nothing],
  ['SUNION', ...nothing],
  ['SDIFFSTORE', 'd', ...nothing],
  ['SINTERCARD', number, ...nothing],
  ['ZUNION', number, ...nothing],
  ['ZINTERSTORE', 'd', number, ...nothing],
  ['ZINTERCARD', number, ...nothing],
  ['LMPOP', number, ...nothing, 'LEFT'],
  ['ZMPOP', number, ...nothing, 'MIN'],
  ['BLPOP', ...nothing, '0'],
  ['BZPOPMIN', ...nothing, '0'],
  ['BLMPOP', '0', number, ...nothing, 'LEFT'],
  ['BZMPOP', '0', number, ...nothing, 'MIN'],
])('keys of %s %s', async (...words) => {
  const { glances } = await glancesOf(words.map((word) => Buffer.from(word)));
  expect(glances).toBeGreaterThan(100);
});

test('keys that another node gathers', async () => {
  const line = gatherLine(
    ['set'],
    1_000,
    nothing.map((key) => Buffer.from(key)),
  );
  expect((await glancesOf(line)).glances).toBeGreaterThan(100);
});

test.each([
  ['SINTER', ...each('s')],
  ['SDIFF', 's', ...each('other')],
  ['SUNION', ...each('other'), 's'],
  ['SINTERCARD', number, ...each('s')],
  ['ZINTER', number, ...each('z')],
  ['ZDIFF', String(COUNT + 1), 'z', ...each('y')],
])('lookups of one member in all keys of %s %s', async (...words) => {
  const { glances, kind } = await glancesOf(words.map((word) => Buffer.from(word)));
  expect(kind).not.toBe('error');
  expect(glances).toBeGreaterThan(200);
});

test('few keys of what reads nothing are opened at once', async () => {
  for (const line of ['LMPOP 2 a b LEFT', 'BLPOP a b 0', 'SINTER a b', 'SINTERCARD 2 a b']) {
    const { glances } = await glancesOf(line.split(' ').map((word) => Buffer.from(word)));
    expect(glances, line).toBe(0);
  }
});
