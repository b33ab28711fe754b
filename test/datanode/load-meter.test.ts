import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { limits } from '../../src/common/limits.ts';
import { LoadMeter } from '../../src/datanode/load-meter.ts';
import type { Replica } from '../../src/datanode/partition/replica/replica.ts';
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import { encodeRecord, keys } from '../../src/meta/schema.ts';

test('a node carries its replicas, the keys of those it leads, and what lies on its disk', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kvorum-load-'));
  try {
    await fsDisk.makeDir(join(dataDir, 'engines', '1-0'));
    writeFileSync(join(dataDir, 'engines', '1-0', '000001.ldb'), Buffer.alloc(5_000));
    writeFileSync(join(dataDir, 'identity'), Buffer.alloc(50));
    const replica = (isLeader: boolean, keys: number) =>
      ({ isLeader, namespace: 'default', counts: () => ({ keys, expires: 0 }) }) as Replica;
    let nowMs = 0;
    let stopped: number[] = [];
    const meter = new LoadMeter({
      node: 'n1',
      clock: { monotonicMs: () => nowMs } as never,
      disk: fsDisk,
      dataDir,
      host: {
        replicas: () => [replica(true, 3), replica(false, 9), replica(true, 4)],
        stopped: () => stopped,
      },
      memoryBytes: () => 77,
    });
    const load = { version: 1, node: 'n1', replicas: 3, leaders: 2, keys: 7, memoryBytes: 77 };
    expect(await meter.read()).toEqual({ ...load, diskBytes: 5_050 });
    writeFileSync(join(dataDir, 'table'), Buffer.alloc(1));
    expect(await meter.read()).toEqual({ ...load, diskBytes: 5_050 });
    nowMs = 60_001;
    expect(await meter.read()).toEqual({ ...load, diskBytes: 5_051 });
    stopped = Array.from({ length: 2 * limits.metaStoppedMax }, (_, at) => at + 1);
    const told = await meter.read();
    expect(told).toEqual({ ...load, diskBytes: 5_051, stopped: stopped.slice(0, 1_024) });
    expect(decodeRecord(recordKinds.load, keys.load('n1'), encodeRecord(told))).toEqual(told);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test('files are looked at less often while nothing is applied', async () => {
  const replica = { isLeader: false, appliedIndex: 5 } as {
    isLeader: boolean;
    appliedIndex: number;
  };
  let [nowMs, looks] = [0, 0];
  const meter = new LoadMeter({
    node: 'n1',
    clock: { monotonicMs: () => nowMs } as never,
    disk: { bytesBelow: async () => ++looks },
    dataDir: '/nowhere',
    host: { replicas: () => [replica as Replica], stopped: () => [] },
    memoryBytes: () => 77,
  });
  const looksAt = async (ms: number) => {
    nowMs = ms;
    return (await meter.read()).diskBytes;
  };
  expect(await looksAt(0)).toBe(1);
  expect(await looksAt(600_000)).toBe(1);
  expect(await looksAt(600_001)).toBe(2);
  replica.appliedIndex = 6;
  expect(await looksAt(660_001)).toBe(2);
  expect(await looksAt(660_002)).toBe(3);
  expect(await looksAt(800_000)).toBe(3);
});
