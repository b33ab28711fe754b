import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { Proposals } from '../../../../src/datanode/partition/proposing/proposals.ts';
import { integer } from '../../../../src/datanode/resp/reply.ts';

const LARGE = 2 * limits.raftMessageBytesMax;

function write(bytes: number, deadlineMs: number, words: readonly string[] = []): CommandBatch {
  return {
    namespace: 'default',
    partition: 0,
    kind: 'write',
    lines: [
      [...words, 'APPEND', 'key'].map((word) => Buffer.from(word)).concat(Buffer.alloc(bytes)),
    ],
    protocol: 2,
    term: undefined,
    deadlineMs,
  };
}

const forwarded = (bytes: number, sequence: number, deadlineMs: number, id = 'session') => ({
  ...write(bytes, deadlineMs),
  once: { id: Buffer.from(id), sequence, low: 1 },
});

const ofClient = (bytes: number, sequence: number, deadlineMs: number) =>
  write(bytes, deadlineMs, ['KV.ONCE', 'session', String(sequence), '1']);

/** How many entries were proposed, from `index` on. */
function flush(proposals: Proposals, index: number): number {
  let entries = 0;
  proposals.flush(
    0,
    () => Buffer.alloc(0),
    (data) => {
      entries += data.length;
      return { ok: true, term: 1, index };
    },
  );
  return entries;
}

const values = (results: readonly LineResult[]) =>
  results.map((result) => (result.ok ? result.reply : result.code));

describe.each([
  ['that a node forwards', forwarded],
  ['under the session of a client', ofClient],
])('a large write %s', (_which, batch) => {
  test('that is asked for again waits for the entry that is on its way', async () => {
    const proposals = new Proposals();
    const first = proposals.gather(batch(LARGE, 7, 100));
    expect(flush(proposals, 5)).toBe(1);
    proposals.expire(100, 4);
    expect(values(await first)).toEqual(['OUTCOME_UNKNOWN']);
    const second = proposals.gather(batch(LARGE, 7, 200));
    expect(flush(proposals, 6)).toBe(0);
    proposals.expire(200, 4);
    expect(values(await second)).toEqual(['OUTCOME_UNKNOWN']);
    const third = proposals.gather(batch(LARGE, 7, 300));
    expect(flush(proposals, 6)).toBe(0);
    proposals.settle(5, 1, [integer(1)]);
    expect(values(await third)).toEqual([integer(1)]);
    expect(proposals.count).toBe(0);
    // what is settled is asked of the session
    void proposals.gather(batch(LARGE, 7, 400));
    expect(flush(proposals, 6)).toBe(1);
  });

  test('is answered to whoever waits for it, also to who asked first', async () => {
    const proposals = new Proposals();
    const both = [proposals.gather(batch(LARGE, 7, 100))];
    flush(proposals, 5);
    both.push(proposals.gather(batch(LARGE, 7, 200)));
    proposals.expire(150, 4);
    proposals.settle(5, 2, []);
    expect((await Promise.all(both)).map(values)).toEqual([['TERM_CHANGED'], ['TERM_CHANGED']]);
  });

  test('is another one under another number, and so is a small one', async () => {
    const proposals = new Proposals();
    void proposals.gather(batch(LARGE, 7, 100));
    void proposals.gather(batch(10, 9, 100));
    expect(flush(proposals, 5)).toBe(1);
    void proposals.gather(batch(LARGE, 8, 100));
    expect(flush(proposals, 6)).toBe(1);
    const small = new Proposals();
    void small.gather(batch(10, 9, 100));
    flush(small, 5);
    void small.gather(batch(10, 9, 100));
    expect(flush(small, 6)).toBe(1);
  });
});

test('a session of another name is another one', () => {
  const proposals = new Proposals();
  void proposals.gather(forwarded(LARGE, 7, 100));
  flush(proposals, 5);
  void proposals.gather(forwarded(LARGE, 7, 100, 'another'));
  void proposals.gather(write(LARGE, 100));
  expect(flush(proposals, 6)).toBe(2);
});
