import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import type { BatchOperation } from '../../../src/datanode/engine/engine.ts';
import { bytesOf, WriteQueue } from '../../../src/datanode/engine/write-queue.ts';
import { key, put } from '../../conformance/engine.ts';

/** A target whose calls end when the test says so. */
function heldTarget() {
  const calls: string[] = [];
  const pending: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const hold = (what: string) => {
    calls.push(what);
    return new Promise<void>((resolve, reject) => pending.push({ resolve, reject }));
  };
  const keys = (operations: Iterable<BatchOperation>) =>
    Array.from(operations, (o) => o.key).join('+');
  const queue = new WriteQueue({
    batch: (operations) => hold(keys(operations)),
    clear: (range) => hold(`clear ${range.gte}`),
  });
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return {
    queue,
    calls,
    async end(error?: Error) {
      const call = pending.shift();
      if (error) call?.reject(error);
      else call?.resolve();
      await settle();
    },
  };
}

const write = (k: string) => [put(k, 'v')];
const range = { gte: key('r'), lt: key('s') };

describe('the write queue', () => {
  test('has one write in flight and joins those that wait meanwhile', async () => {
    const { queue, calls, end } = heldTarget();
    const ended: string[] = [];
    for (const k of ['a', 'b', 'c']) void queue.batch(write(k)).then(() => ended.push(k));
    expect(calls).toEqual(['a']);
    await end();
    expect(ended).toEqual(['a']);
    expect(calls).toEqual(['a', 'b+c']);
    await end();
    expect(ended).toEqual(['a', 'b', 'c']);
  });

  test('never joins a batch of many operations, nor moves it past the others', async () => {
    const { queue, calls, end } = heldTarget();
    const many = Array.from({ length: limits.engineBatchStep + 1 }, () => put('m', 'v'));
    void queue.batch(write('a'));
    void queue.batch(write('b'));
    void queue.batch(many);
    void queue.batch(write('c'));
    void queue.batch(write('d'));
    for (let i = 0; i < 4; i++) await end();
    expect(calls.map((call) => call.slice(0, 3))).toEqual(['a', 'b', 'm+m', 'c+d']);
  });

  test('never joins a clear with a write, nor moves one past the other', async () => {
    const { queue, calls, end } = heldTarget();
    void queue.batch(write('a'));
    void queue.batch(write('b'));
    void queue.clear(range);
    void queue.clear(range);
    void queue.batch(write('c'));
    for (let i = 0; i < 5; i++) await end();
    expect(calls).toEqual(['a', 'b', 'clear r', 'clear r', 'c']);
  });

  test('joins up to its byte bound, and lets a larger batch through alone', async () => {
    const { queue, calls, end } = heldTarget();
    const half = Buffer.alloc(limits.engineBatchBytesMax / 2);
    void queue.batch(write('a'));
    void queue.batch([put('b', half)]);
    void queue.batch([put('c', half)]);
    void queue.batch([put('d', Buffer.alloc(limits.engineBatchBytesMax * 2))]);
    void queue.batch(write('e'));
    for (let i = 0; i < 5; i++) await end();
    expect(calls).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(bytesOf([put('ab', 'cde'), { type: 'del', key: key('x') }])).toBe(6);
  });

  test('writes nothing after a failure: all that wait fail with it', async () => {
    const { queue, calls, end } = heldTarget();
    const outcomes = ['a', 'b', 'c'].map((k) => queue.batch(write(k)).catch(codeOf));
    outcomes.push(queue.clear(range).catch(codeOf));
    await end(new Error('no space left'));
    expect(await Promise.all(outcomes)).toEqual(Array(4).fill('DISK_FAILED'));
    await expect(queue.batch(write('d'))).rejects.toThrow('no space left');
    await expect(queue.settled()).rejects.toThrow('no space left');
    expect(calls).toEqual(['a']);
  });

  test('settles when what was asked for before has ended', async () => {
    const { queue, end } = heldTarget();
    let settled = false;
    void queue.batch(write('a'));
    void queue.batch(write('b'));
    void queue.settled().then(() => {
      settled = true;
    });
    await end();
    expect(settled).toBe(false);
    await end();
    expect(settled).toBe(true);
  });

  test('once closing takes no more, and ends what it has', async () => {
    const { queue, calls, end } = heldTarget();
    const last = queue.batch(write('a'));
    const closing = queue.close();
    expect(await queue.batch(write('b')).catch(codeOf)).toBe('STOPPING');
    await end();
    await Promise.all([last, closing]);
    expect(calls).toEqual(['a']);
  });

  test('refuses writes beyond its bound and keeps those it has', async () => {
    const { queue, end } = heldTarget();
    const first = queue.batch(write('a'));
    const kept: Promise<void>[] = [];
    for (let i = 0; i < limits.engineWritesWaitingMax; i++) kept.push(queue.batch([]));
    // the first has left the waiting line, so the line is full now
    expect(await queue.batch(write('b')).catch(codeOf)).toBe('BUSY');
    await end();
    await first;
    await Promise.all(kept);
  });
});
