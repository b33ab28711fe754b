import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  askProgress,
  decodeProgress,
  decodeProgressQuery,
  encodeProgress,
  encodeProgressQuery,
  isProgressQuery,
  skipBytes,
} from '../../../../src/datanode/partition/snapshots/snapshot-resume.ts';

const query = { group: 7, replica: 2 ** 40, id: 2 ** 52 + 1 };

test('question and answer arrive as they were, or are refused', () => {
  const body = encodeProgressQuery(query);
  expect(isProgressQuery(body)).toBe(true);
  expect(decodeProgressQuery(body)).toEqual(query);
  expect(decodeProgress(encodeProgress(2 ** 50))).toBe(2 ** 50);
  for (let end = 0; end < body.length; end++) {
    expect(() => decodeProgressQuery(body.subarray(0, end))).toThrow(/snapshot progress/);
  }
  expect(() => decodeProgress(Buffer.from([9]))).toThrow(/unknown version 9/);
});

test('a node that does not answer, or answers nonsense, has nothing', async () => {
  const ask = (request: () => Promise<Buffer>) => askProgress({ request }, 'n1', query);
  expect(await ask(() => Promise.reject(new Error('away')))).toBe(0);
  expect(await ask(async () => Buffer.from('?'))).toBe(0);
  expect(await ask(async () => encodeProgress(99))).toBe(99);
});

test('what has arrived is left out, whatever the chunks', async () => {
  async function* source(chunks: readonly Buffer[]) {
    yield* chunks;
  }
  const chunk = fc.uint8Array({ minLength: 1, maxLength: 9 }).map((each) => Buffer.from(each));
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 8 }), fc.nat(40), async (chunks, count) => {
      const left: Buffer[] = [];
      for await (const part of skipBytes(source(chunks), count)) left.push(part);
      expect(Buffer.concat(left)).toEqual(Buffer.concat(chunks).subarray(count));
    }),
  );
});
