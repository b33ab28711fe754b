import { pbkdf2 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { enginesShare, PoolShare, runClearing } from '../../../src/datanode/engine/pool-share.ts';

/** Jobs that end when they are told to, and the names of those that have begun. */
function jobs() {
  const begun: string[] = [];
  const ends = new Map<string, (failure?: Error) => void>();
  const job = (name: string) => () =>
    new Promise<void>((resolve, reject) => {
      begun.push(name);
      ends.set(name, (failure) => (failure ? reject(failure) : resolve()));
    });
  return { begun, job, end: (name: string, failure?: Error) => ends.get(name)!(failure) };
}

/** Of the pool's threads, without a disk. */
function work(): Promise<void> {
  return new Promise((resolve, reject) => {
    pbkdf2('a', 'b', 600_000, 32, 'sha256', (error) => (error ? reject(error) : resolve()));
  });
}

describe('the share of the thread pool', () => {
  test('has so many jobs at once, the others in the order they came', async () => {
    const { begun, job, end } = jobs();
    const share = new PoolShare(2);
    const all = ['a', 'b', 'c', 'd'].map((name) => share.run(job(name)));
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await all[1];
    expect(begun).toEqual(['a', 'b', 'c']);
    end('a');
    await all[0];
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    end('c');
    end('d');
    await Promise.all(all);
  });

  test('goes to the next when a job fails, and tells whose it was', async () => {
    const { begun, job, end } = jobs();
    const share = new PoolShare(1);
    const [first, second] = [share.run(job('a')), share.run(job('b'))];
    end('a', new Error('no space'));
    await expect(first).rejects.toThrow('no space');
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await second;
  });

  test('leaves a thread to the log, however many engines have long work', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kvorum-pool-'));
    let done = 0;
    const long = Array.from({ length: 8 }, () => enginesShare.run(work).then(() => done++));
    const file = await fsDisk.open(join(dir, 'log'), 'create');
    await file.pwriteSynced(0, Buffer.alloc(4_096));
    const before = done;
    await Promise.all(long);
    await file.close();
    await rm(dir, { recursive: true });
    // with work on all four threads five would be over before the file is even opened
    expect(before).toBeLessThan(5);
    expect(done).toBe(8);
  });

  test('lets batches be written while whole engines are cleared', async () => {
    const { begun, job, end } = jobs();
    const clears = ['a', 'b', 'c', 'd'].map((name) => runClearing(job(name)));
    const batch = enginesShare.run(job('batch'));
    expect(begun).toEqual(['a', 'b', 'batch']);
    end('batch');
    await batch;
    for (const name of 'abcd') {
      end(name);
      await clears.shift();
    }
    expect(begun).toEqual(['a', 'b', 'batch', 'c', 'd']);
  });
});
