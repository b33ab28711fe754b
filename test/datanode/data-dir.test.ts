/** A node's data directory as it is opened: what a newer build wrote there is left alone. */
import { beforeEach, expect, test } from 'vitest';
import { writeChecked } from '../../src/common/checked-file.ts';
import { systemClock } from '../../src/common/clock.ts';
import { readFile } from '../../src/common/disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { openDataDir } from '../../src/datanode/data-dir.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { SimDisk } from '../sim/disk.ts';

const random = seededRandom(1);
let disk: SimDisk;

beforeEach(async () => {
  disk = new SimDisk({ random, clock: systemClock });
  await disk.makeDir('/d');
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

test('notes of a newer build are refused, and nothing is set aside', async () => {
  const notes = { version: 9, incarnation: 'i', origins: [], damages: [], promised: [] };
  await writeChecked(disk, '/d/identity', { version: 1, node: 'n1', incarnation: 'i' });
  await writeChecked(disk, '/d/replicas', notes);
  const before = await readFile(disk, '/d/replicas', 1_000);
  await expect(open()).rejects.toMatchObject({
    code: 'TOO_NEW',
    message: '/d/replicas: of version 9, this build reads 1; upgrade kvorum on this node',
  });
  expect(await disk.list('/d')).toEqual(['identity', 'replicas']);
  expect(await readFile(disk, '/d/replicas', 1_000)).toEqual(before);
});
