/** A node's data directory as it is opened: what a newer build wrote there is left alone. */
import { beforeEach, expect, test } from 'vitest';
import { writeChecked } from '../../src/common/checked-file.ts';
import { systemClock } from '../../src/common/clock.ts';
import { readFile, replaceFile } from '../../src/common/disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { openDataDir } from '../../src/datanode/data-dir.ts';
import { sealRecord } from '../../src/datanode/encoding/record.ts';
import { STATE_KEY } from '../../src/datanode/encoding/system.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import { checkLogHoldsEngines } from '../../src/datanode/partition/open-replica.ts';
import { encodeState } from '../../src/datanode/partition/state.ts';
import { EMPTY_CONF } from '../../src/datanode/raft/conf-change.ts';
import { openSharedLog } from '../../src/datanode/raftlog/shared-log.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { SimDisk } from '../sim/disk.ts';

const random = seededRandom(1);
let disk: SimDisk;

beforeEach(async () => {
  disk = new SimDisk({ random, clock: systemClock });
  for (const dir of ['/d', '/d/log']) await disk.makeDir(dir);
});

const open = () =>
  openDataDir({
    config: datanodeConfigSchema.parse({
      ...{ name: 'n1', 'data-dir': '/d' },
      meta: { endpoints: ['http://127.0.0.1:2379'] },
    }),
    ...{ clock: systemClock, random, disk, logger: silentLogger },
    engines: createMemoryHost(),
    store: new MemoryMeta({ clock: systemClock }).connect(),
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
