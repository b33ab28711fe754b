/** Bits that flip in what was durable, and files that vanish: always reported, never shortened. */
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf, messageOf } from '../../../src/common/errors.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  encodeBatchHeader,
} from '../../../src/datanode/raftlog/format.ts';
import type { RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog, type SharedLogOptions } from '../../../src/datanode/raftlog/shared-log.ts';
import { SimDisk } from '../../sim/disk.ts';
import { digestOf, entryRange, reset } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

const noted = () => {};
const segmentBytes = 4096;
let clock: ManualClock;
let disk: SimDisk;
let failures: unknown[];

function openLog(options: Partial<SharedLogOptions> = {}): Promise<RaftLog> {
  return clock.until(
    openSharedLog({
      disk,
      dir: 'node/raftlog',
      clock,
      logger: silentLogger,
      segmentBytes,
      onFailure: (error) => failures.push(error),
      ...options,
    }),
  );
}

interface FoundBatch {
  readonly path: string;
  readonly offset: number;
  readonly end: number;
  readonly payloadBytes: number;
}

async function batchesOnDisk(): Promise<FoundBatch[]> {
  const found: FoundBatch[] = [];
  for (const name of await disk.list('node/raftlog')) {
    const path = `node/raftlog/${name}`;
    const file = await disk.open(path, 'read');
    const bytes = await file.pread(0, await file.size());
    for (let offset = 0; offset < bytes.length; offset += 512) {
      const header = decodeBatchHeader(bytes, offset);
      if (typeof header === 'string' || !('seq' in header)) continue;
      const end = offset + BATCH_HEADER_BYTES + header.payloadBytes;
      found.push({ path, offset, end, payloadBytes: header.payloadBytes });
    }
  }
  return found;
}

async function fillSomeSegments(): Promise<string> {
  const log = await openLog();
  log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
  log.append({ replica: 2, reset: reset(0, 0, 1), tombstone: true }, noted);
  for (let i = 0; i < 12; i++) {
    const hardState = { term: 1, vote: 1, commit: i * 5 };
    log.append({ replica: 1, entries: entryRange(i * 5 + 1, i * 5 + 5, 1), hardState }, noted);
    await clock.until(log.flush());
  }
  const digest = digestOf(log);
  await clock.until(log.close());
  return digest;
}

async function openError(): Promise<unknown> {
  try {
    await openLog();
  } catch (error) {
    return error;
  }
  return undefined;
}

beforeEach(() => {
  clock = new ManualClock();
  disk = new SimDisk({ random: seededRandom('damage'), clock });
  failures = [];
});

describe('damage', () => {
  test('every flipped byte before the mark is reported with its file and batch', async () => {
    await fillSomeSegments();
    const batches = await batchesOnDisk();
    expect(new Set(batches.map((batch) => batch.path)).size).toBeGreaterThan(1);
    expect(batches.at(-1)!.payloadBytes).toBe(0); // the mark
    let flips = 0;
    for (const batch of batches.slice(0, -1)) {
      for (let at = batch.offset; at < batch.end; at += at < batch.offset + 60 ? 1 : 13) {
        disk.flip(batch.path, at, 0x10);
        const error = await openError();
        expect(codeOf(error)).toBe('CORRUPT');
        expect(messageOf(error)).toContain(`${batch.path}: damaged at offset ${batch.offset}`);
        expect(messageOf(error)).toContain('restore the file');
        disk.flip(batch.path, at, 0x10);
        flips++;
      }
    }
    expect(flips).toBeGreaterThan(500);
  });

  test('a damaged mark loses nothing', async () => {
    const digest = await fillSomeSegments();
    const mark = (await batchesOnDisk()).at(-1)!;
    disk.flip(mark.path, mark.offset + 20);
    const log = await openLog();
    expect(digestOf(log)).toBe(digest);
    await clock.until(log.close());
  });

  test('a missing file is named, in the middle and at the start', async () => {
    await fillSomeSegments();
    const names = await disk.list('node/raftlog');
    expect(names.length).toBeGreaterThan(2);
    await disk.rename(`node/raftlog/${names[1]}`, 'node/aside');
    expect(codeOf(await openError())).toBe('CORRUPT');
    expect(messageOf(await openError())).toContain(`${names[1]}: damaged at offset 0: the file is`);
    await disk.rename('node/aside', `node/raftlog/${names[1]}`);
    await disk.unlink(`node/raftlog/${names[0]}`);
    expect(messageOf(await openError())).toContain('entry 1 of replica 1 is in none of the files');
  });

  test('a log that is refused keeps every file as it was found', async () => {
    await fillSomeSegments();
    const { path } = (await batchesOnDisk()).at(-1)!;
    const names = await disk.list('node/raftlog');
    expect(`node/raftlog/${names.at(-1)}`).not.toBe(path); // one was made ahead
    disk.flip(path, 512 + 20); // a later batch says that this one was durable
    for (let time = 1; time <= 2; time++) {
      expect(messageOf(await openError())).toContain(`${path}: damaged at offset 512`);
      expect(await disk.list('node/raftlog')).toEqual(names);
    }
  });

  test('a log that ends before a batch that is known elsewhere is refused, each time, as it is', async () => {
    await fillSomeSegments();
    const batches = await batchesOnDisk();
    const knownSeq = batches.length;
    const last = batches.at(-1)!;
    const file = await disk.open(last.path, 'write');
    await file.truncate(last.offset);
    for (let time = 1; time <= 3; time++) {
      await expect(openLog({ knownSeq })).rejects.toMatchObject({
        code: 'CORRUPT',
        message: expect.stringContaining(
          `${last.path}: damaged at offset ${last.offset}: the log ends with batch ${knownSeq - 1}, yet ` +
            `this node has noted that batch ${knownSeq} was durable: a file was cut, removed, or`,
        ),
      });
      expect(await file.size()).toBe(last.offset);
    }
    for (const name of await disk.list('node/raftlog')) await disk.unlink(`node/raftlog/${name}`);
    await expect(openLog({ knownSeq: 1 })).rejects.toThrow('the log ends with batch 0, yet');
  });

  test('a log tells of its newest batch on disk that is more than a mark', async () => {
    const log = await openLog();
    expect(log.durableSeq).toBe(1); // the checkpoint
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    expect(log.durableSeq).toBe(1);
    await clock.until(log.flush());
    expect(log.durableSeq).toBe(2);
    await clock.until(log.close());
    expect(log.durableSeq).toBe(2);
    const again = await openLog({ knownSeq: 2 });
    expect(again.durableSeq).toBe(0);
    await clock.until(again.close());
  });

  test('the first batch of the last segment is damage as well, once a later one calls it durable', async () => {
    const log = await openLog();
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    const names = () => disk.list('node/raftlog');
    for (let index = 1; (await batchesOnDisk()).at(-1)!.path.endsWith('1.log'); index++) {
      log.append({ replica: 1, entries: entryRange(index, index, 1) }, noted);
      await clock.until(log.flush());
    }
    await clock.until(log.close()); // whose mark is a batch, too
    const last = `node/raftlog/${(await names()).at(-1)}`;
    const batches = (await batchesOnDisk()).filter(({ path }) => path === last);
    expect(batches.map(({ offset }) => offset > 0)).toEqual([false, true]); // none is made ahead
    disk.flip(last, 100);
    expect(codeOf(await openError())).toBe('CORRUPT');
    expect(messageOf(await openError())).toContain(`${last}: damaged at offset 0: its first batch`);
    expect((await names()).at(-1)).toBe(last.slice('node/raftlog/'.length));
  });

  test('a file of a newer version is not taken for damage', async () => {
    const { crc32 } = await import('../../../src/common/checksum.ts');
    await fillSomeSegments();
    const [batch] = await batchesOnDisk();
    const file = await disk.open(batch!.path, 'write');
    const header = await file.pread(0, BATCH_HEADER_BYTES);
    header.writeUInt8(2, 4);
    header.writeUInt32BE(crc32(header.subarray(0, 44)), 44);
    await file.pwrite(0, header);
    const refusal = await openError();
    expect(codeOf(refusal)).toBe('TOO_NEW');
    expect(messageOf(refusal)).toContain('format version 2 at offset 0 is unknown');
  });

  test('bytes of another place or a former life of the file are not part of the log', async () => {
    const digest = await fillSomeSegments();
    const batches = await batchesOnDisk();
    const tail = batches.at(-1)!;
    const file = await disk.open(tail.path, 'write');
    // the batch that would come next by its number, but written for another segment
    const donor = await disk.open(batches[0]!.path, 'read');
    await file.pwrite(tail.offset + 512, await donor.pread(0, 512));
    const log = await openLog();
    expect(digestOf(log)).toBe(digest);
    await clock.until(log.close());
  });

  test('what a batch that was not finished leaves does not lie behind the next ones', async () => {
    const first = await openLog();
    first.append({ replica: 1, reset: reset(0, 0, 1), entries: entryRange(1, 3, 1) }, noted);
    await clock.until(first.close());
    const tail = (await batchesOnDisk()).at(-1)!;
    const file = await disk.open(tail.path, 'write');
    const { segment, seq } = decodeBatchHeader(await file.pread(tail.offset, 512), 0) as {
      readonly segment: number;
      readonly seq: number;
    };
    const offset = tail.offset + 512;
    const torn = Buffer.alloc(6 * 512);
    const header = { flags: 0, segment, durable: seq, payloadBytes: 5 * 512, payloadCrc: 1 };
    encodeBatchHeader(torn, { ...header, seq: seq + 1, offset });
    // what a client wrote looks like the header of a batch, which says that the torn one was durable
    const inside = { ...header, seq: seq + 9, durable: seq + 8, payloadBytes: 0 };
    encodeBatchHeader(torn.subarray(5 * 512), { ...inside, offset: offset + 5 * 512 });
    await file.pwrite(offset, torn);
    const log = await openLog();
    log.append({ replica: 1, hardState: { term: 2, vote: 1, commit: 3 } }, noted);
    await clock.until(log.flush());
    const digest = digestOf(log);
    await clock.until(log.close());
    const again = await openLog();
    expect(digestOf(again)).toBe(digest);
    await clock.until(again.close());
  });

  test('an entry damaged while the log is open is reported by the read, and stops the log', async () => {
    const log = await openLog({ cacheBytes: 0 });
    log.append({ replica: 1, reset: reset(0, 0, 1), entries: entryRange(1, 3, 1) }, noted);
    await clock.until(log.flush());
    const batch = (await batchesOnDisk()).find((one) => one.offset > 0)!;
    // the last entry stays in memory until others have written some batches
    for (let index = 1; index <= 4; index++) {
      const isNew = index === 1;
      const part = { replica: 2, entries: entryRange(index, index, 1) };
      log.append(isNew ? { ...part, reset: reset(0, 0, 1) } : part, noted);
      await clock.until(log.flush());
    }
    disk.flip(batch.path, batch.end - 1);
    expect(log.replica(1)!.entries(1, 3, 1e9)).toEqual(entryRange(1, 2, 1));
    const place = new RegExp(`${batch.path}: damaged at offset \\d+: entry 3 of replica 1`);
    expect(() => log.replica(1)!.entries(1, 4, 1e9)).toThrow(place);
    expect(failures.map(codeOf)).toEqual(['CORRUPT']);
    await expect(log.flush()).rejects.toThrow(place);
    await clock.until(log.close());
  });
});
