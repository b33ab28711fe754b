/** Walks over a server that answers as it is told. */
import { expect, test } from 'vitest';
import { elementStream, keySteps, keyStream, type ScanOptions } from '../../src/sdk/scan.ts';
import type { TableContent } from '../../src/sdk/table.ts';

/** Answers of SCAN, one after the other; `sent`: what was sent. */
function server(...answers: [cursor: string, found: string[]][]) {
  const sent: unknown[][] = [];
  const send = async (...line: unknown[]) => {
    sent.push(line);
    return answers.shift()!;
  };
  return { send, sent };
}

const content = (hash: 'slots' | 'murmur3', partitions: number) =>
  ({ hash, partitions: Array.from({ length: partitions }) }) as unknown as TableContent;

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function progressOf(cursor: string, of: TableContent | undefined): Promise<number[]> {
  const { send } = server([cursor, []], ['0', []]);
  const steps = await allOf(keySteps(send, {}, () => of));
  return steps.map(({ progress }) => progress);
}

const HALF = String(16_384 * 2 ** 31);

test('a walk goes on from cursor to cursor, with the options of the caller', async () => {
  const { send, sent } = server(['7', ['a']], ['0', ['b', 'c']]);
  const options: ScanOptions = { match: 'x*', count: 5, type: 'set', cursor: '3', timeoutMs: 9 };
  const steps = await allOf(keySteps(send, options, () => undefined));
  expect(steps.map(({ keys, cursor }) => [keys, cursor])).toEqual([
    [['a'], '7'],
    [['b', 'c'], '0'],
  ]);
  const words = ['MATCH', 'x*', 'COUNT', 5, 'TYPE', 'set', { timeoutMs: 9 }];
  expect(sent).toEqual([
    ['scan', '3', ...words],
    ['scan', '7', ...words],
  ]);
});

test('what lies behind is told by the places that there are for keys', async () => {
  expect(await progressOf(HALF, content('slots', 3))).toEqual([0.5, 1]);
  expect(await progressOf(HALF, undefined)).toEqual([0.5, 1]);
  // each of three partitions has a third of the hashes, rounded up
  const [half] = await progressOf(HALF, content('murmur3', 3));
  expect(half).toBeCloseTo(0.5, 6);
  expect(half).toBeLessThan(0.5);
});

test('streams leave empty steps out', async () => {
  const { send, sent } = server(['5', []], ['6', ['f', '1']], ['0', []]);
  const fields = elementStream(send, 'hscan', 'hash', { count: 2 });
  expect(await allOf(fields)).toEqual([['f', '1']]);
  expect(sent[1]).toEqual(['hscan', 'hash', '5', 'COUNT', 2, {}]);
  const keys = server(['5', ['a']], ['0', []]);
  const stream = keyStream(keySteps(keys.send, {}, () => undefined));
  expect(await allOf(stream)).toEqual([['a']]);
});
