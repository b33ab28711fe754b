/** A node's data directory as it is opened: what a newer build wrote there is left alone. */
import { beforeEach, expect, test, vi } from 'vitest';
import { readChecked, writeChecked } from '../../src/common/checked-file.ts';
import { systemClock } from '../../src/common/clock.ts';
import { readFile, replaceFile } from '../../src/common/disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { type LogTuning, openDataDir } from '../../src/datanode/data-dir.ts';
import { sealRecord } from '../../src/datanode/encoding/records/record.ts';
import { STATE_KEY } from '../../src/datanode/encoding/records/system.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import { checkLogHoldsEngines } from '../../src/datanode/partition/replica/open-replica.ts';
import { encodeState } from '../../src/datanode/partition/storage/state.ts';
import { EMPTY_CONF } from '../../src/datanode/raft/conf-change.ts';
import { decodeBatchHeader, SECTOR_BYTES } from '../../src/datanode/raftlog/format.ts';
import { openSharedLog } from '../../src/datanode/raftlog/shared-log.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { encodeRecord, keys, SCHEMA_VERSION } from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { SimDisk } from '../sim/disk.ts';

const random = seededRandom(1);
let disk: SimDisk;
let store: MetaStore;

beforeEach(async () => {
  store = new MemoryMeta({ clock: systemClock }).connect();
  const cluster = { version: SCHEMA_VERSION, clusterId: 'c', createdMs: 1 };
  const value = encodeRecord(cluster);
  await store.transaction([], [{ type: 'put', key: keys.cluster, value }]);
  disk = new SimDisk({ random, clock: systemClock });
  for (const dir of ['/d', '/d/log']) await disk.makeDir(dir);
});

const open = (log: LogTuning = {}) =>
  openDataDir({
    tuning: { log },
    config: datanodeConfigSchema.parse({
      ...{ name: 'n1', 'data-dir': '/d' },
      meta: { endpoints: ['http://127.0.0.1:2379'] },
    }),
    ...{ clock: systemClock, random, disk, logger: silentLogger },
    engines: createMemoryHost(),
    store,
    onLogFailure: () => {},
  });

test('a log that was emptied beside its engines is damage: nothing is made anew under their ids', async () => {
  const engines = createMemoryHost();
  const apply = async (index: number) => {
    const { engine } = await engines.open('1-0');
    const state = { index, term: 1, timeMs: 0, epoch: 1, confState: EMPTY_CONF };
    await engine.write([
      { type: 'put', key: STATE_KEY, value: sealRecord(STATE_KEY, encodeState(state)) },
    ]);
    await engine.close();
  };
  await replaceFile(disk, '/d/log/000000000001.log', Buffer.alloc(0));
  const files = { disk, dir: '/d/log', clock: systemClock, logger: silentLogger };
  const log = await openSharedLog({ ...files, onFailure: () => {} });
  await apply(1); // all that a crash may leave of a replica in the making
  await checkLogHoldsEngines(engines, log, '/d/log');
  await apply(2);
  await expect(checkLogHoldsEngines(engines, log, '/d/log')).rejects.toMatchObject({
    code: 'CORRUPT',
    message: '/d/log: holds no replica, but engine 1-0 is applied up to 2: the raft log is gone',
  });
  const reset = { base: { index: 2, term: 1 }, generation: 0 };
  log.append({ replica: 1, reset, tombstone: true }, () => {});
  await log.flush();
  await checkLogHoldsEngines(engines, log, '/d/log'); // it was removed, but for its engine
  await log.close();
});

/** A node whose only replica voted in term 1 and, last of all, in term 2; stopped in the end. */
async function votedTwice(): Promise<void> {
  await writeChecked(disk, '/d/identity', { version: 1, node: 'n1', incarnation: 'i' });
  const { log, notes, close } = await open();
  await notes.addOrigins(new Map([[1, { group: 1, epoch: 1 }]]));
  const reset = { base: { index: 1, term: 1 }, generation: 0 };
  log.append({ replica: 1, reset, hardState: { term: 1, vote: 1, commit: 1 } }, () => {});
  await log.flush();
  log.append({ replica: 1, hardState: { term: 2, vote: 2, commit: 1 } }, () => {});
  await close();
}

const LOG_FILE = '/d/log/000000000001.log';

/** Where its batches begin. */
async function batchesOf(path: string): Promise<number[]> {
  const bytes = await readFile(disk, path, 1e9);
  const found: number[] = [];
  for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
    if (typeof decodeBatchHeader(bytes, at) === 'object') found.push(at);
  }
  return found;
}

test('a log that was cut after its node had stopped is set aside, whatever its engines say', async () => {
  await votedTwice();
  const sound = await open();
  expect(sound.log.replica(1)?.hardState.vote).toBe(2);
  await sound.close();
  // behind that of the second vote come marks alone: to lose those is to lose nothing
  const marks = (await batchesOf(LOG_FILE)).slice(-3);
  const file = await disk.open(LOG_FILE, 'write');
  await file.truncate(marks[0]!);
  await (await open()).close();
  await file.truncate(marks[0]! - SECTOR_BYTES);
  const { identity, log, close } = await open();
  expect(identity.incarnation).not.toBe('i');
  expect(log.replicas()).toEqual([]);
  expect(await disk.list('/d/quarantine')).toEqual(['identity', 'log', 'replicas']);
  await close();
});

test('a node that never noted where its log ends opens what is there', async () => {
  await votedTwice();
  const { logSeq, ...older } = (await readChecked<{ logSeq: number }>(disk, '/d/replicas', ''))!;
  expect(logSeq).toBe((await batchesOf(LOG_FILE)).length - 1); // all but the mark at the end
  await writeChecked(disk, '/d/replicas', older);
  const { log, close } = await open();
  expect(log.replica(1)?.hardState.vote).toBe(2);
  await close();
});

test('where a log ends is noted when it begins a segment, and never more than is on disk', async () => {
  await votedTwice();
  const { log, close } = await open({ segmentBytes: 4_096 });
  const noted = async () =>
    (await readChecked<{ logSeq: number }>(disk, '/d/replicas', ''))!.logSeq;
  const before = await noted();
  const data = Buffer.alloc(5_000);
  log.append({ replica: 1, entries: [{ term: 2, index: 2, kind: 'normal', data }] }, () => {});
  await log.flush();
  expect(await noted()).toBe(before);
  log.append({ replica: 1, entries: [{ term: 2, index: 3, kind: 'normal', data }] }, () => {});
  await log.flush();
  await vi.waitFor(async () => expect(await noted()).toBeGreaterThan(before));
  expect(await noted()).toBeLessThanOrEqual(log.durableSeq);
  expect(log.durableSeq).toBeGreaterThan(before);
  await close();
});

test('notes of a newer build are refused, and nothing is set aside', async () => {
  const notes = { version: 9, incarnation: 'i', origins: [], damages: [], promised: [] };
  await writeChecked(disk, '/d/identity', { version: 1, node: 'n1', incarnation: 'i' });
  await writeChecked(disk, '/d/replicas', notes);
  const before = await readFile(disk, '/d/replicas', 1_000);
  await expect(open()).rejects.toMatchObject({
    code: 'TOO_NEW',
    message: '/d/replicas: of version 9, this build reads 1; upgrade kvorum on this node',
  });
  expect(await disk.list('/d')).toEqual(['identity', 'log', 'replicas']);
  expect(await readFile(disk, '/d/replicas', 1_000)).toEqual(before);
});

test.each([
  ['EACCES', 'open'],
  ['EISDIR', 'pread'],
] as const)('what is not for this process is no damage: %s', async (code, operation) => {
  await writeChecked(disk, '/d/identity', { version: 1, node: 'n1', incarnation: 'i' });
  disk.failNext(operation, { code });
  await expect(open()).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    message: expect.stringMatching(
      new RegExp(
        `^data-dir /d cannot be used \\(${code}: .*/d/identity.*\\); let the user that runs`,
      ),
    ),
  });
  expect(await disk.list('/d')).toEqual(['identity', 'log']);
});
