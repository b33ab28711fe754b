/** What a node writes down of the cluster, and when. */
import { beforeEach, expect, test } from 'vitest';
import { readChecked } from '../../../src/common/checked-file.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import {
  type ClusterImage,
  IMAGE_VERSION,
} from '../../../src/datanode/coordinator/cluster-view.ts';
import { SavedTable } from '../../../src/datanode/coordinator/saved-table.ts';
import { SimDisk } from '../../sim/disk.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

const imageOf = (records: string[]) =>
  ({ version: IMAGE_VERSION, records }) as unknown as ClusterImage;

let disk: SimDisk;
let clock: ManualClock;
let writes: number;
beforeEach(async () => {
  disk = new SimDisk({ random: seededRandom(1), clock: new ManualClock() });
  await disk.makeDir('/d');
  clock = new ManualClock();
  writes = 0;
});

function openTable(stopping = new AbortController().signal): SavedTable {
  return new SavedTable({ clock, disk, dataDir: '/d', logger: silentLogger }, stopping);
}

test('changes of a short while are written together, as they are then', async () => {
  const table = openTable();
  for (const name of ['a', 'b', 'c']) {
    table.save(() => {
      writes++;
      return imageOf([name]);
    });
  }
  await clock.step();
  await table.settled();
  expect(writes).toBe(1);
  expect(await table.read()).toEqual(imageOf(['c']));
});

test('what changes while the file is written is written behind it', async () => {
  const table = openTable();
  table.save(() => {
    table.save(() => imageOf(['later']));
    return imageOf(['first']);
  });
  await clock.step();
  await expect.poll(() => readChecked(disk, '/d/table', '')).toEqual(imageOf(['first']));
  await clock.step();
  await table.settled();
  expect(await table.read()).toEqual(imageOf(['later']));
});

test('a node that stops writes at once what was not written yet', async () => {
  const stopping = new AbortController();
  const table = openTable(stopping.signal);
  table.save(() => imageOf(['last']));
  stopping.abort();
  await table.settled();
  expect(await table.read()).toEqual(imageOf(['last']));
});
