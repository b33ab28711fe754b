import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { readFile, replaceFile } from '../../../src/common/disk.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { segmentName } from '../../../src/datanode/raftlog/segment.ts';
import { restoreTail, saveTailCopy } from '../../../src/datanode/raftlog/tail-copy.ts';
import { SimDisk } from '../../sim/disk.ts';

test('what was put back stays when the power goes as soon as its copy has gone', async () => {
  const batch = Buffer.alloc(1_024, 'batch ');
  for (let seed = 0; seed < 10; seed++) {
    const disk = new SimDisk({ random: seededRandom(seed), clock: systemClock });
    await disk.makeDir('/log');
    await replaceFile(disk, `/log/${segmentName(1)}`, Buffer.alloc(8_192));
    await saveTailCopy(disk, '/log', { segment: 1, offset: 4_096, bytes: batch });
    await restoreTail(disk, '/log');
    disk.crash('os');
    expect(await disk.list('/log')).toEqual([segmentName(1)]);
    const segment = await readFile(disk, `/log/${segmentName(1)}`, 10_000);
    expect(segment.subarray(4_096, 5_120).equals(batch), `seed ${seed}`).toBe(true);
  }
});
