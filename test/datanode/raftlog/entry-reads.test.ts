/** What is read back is the entry that was written there, or damage. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { readEntries, readEntry } from '../../../src/datanode/raftlog/entry-reads.ts';
import { ENTRY_HEADER_BYTES, encodeEntry } from '../../../src/datanode/raftlog/format.ts';
import { type RecordPlace, SegmentSet } from '../../../src/datanode/raftlog/segment.ts';
import { SimDisk } from '../../sim/disk.ts';
import { entry } from './log-model.ts';

const PATH = 'log/000000000001.log';

/** A segment that holds entries 5, 6 and 7 of replica 7, one behind the other. */
async function scene() {
  const disk = new SimDisk({ random: seededRandom(1), clock: systemClock });
  await disk.makeDir('log');
  const onBackgroundError = () => {};
  const segments = new SegmentSet({ disk, dir: 'log', segmentBytes: 4_096, onBackgroundError });
  const segment = segments.begin(1);
  const file = await segments.writable(segment);
  const places: RecordPlace[] = [];
  let offset = 64;
  for (const one of [entry(5, 1), entry(6, 1), entry(7, 1)]) {
    const bytes = Buffer.alloc(ENTRY_HEADER_BYTES + one.data.length);
    encodeEntry(bytes, 0, 'entry', 1, 7, one);
    await file.pwrite(offset, bytes);
    places.push({ segment: 1, offset, bytes: bytes.length });
    offset += bytes.length;
  }
  return { segments, segment, places };
}

test('entries come in their order, however they are read', async () => {
  const { segments, segment, places } = await scene();
  expect(readEntries(segments, 7, places, 5)).toEqual([entry(5, 1), entry(6, 1), entry(7, 1)]);
  expect(readEntries(segments, 7, places.slice(1), 6)).toEqual([entry(6, 1), entry(7, 1)]);
  expect(await readEntry(segment, places[1]!, 7, 6)).toEqual(entry(6, 1));
});

test('an entry of another replica or index is damage, of which file and offset are told', async () => {
  const { segments, segment, places } = await scene();
  const first = `${PATH}: damaged at offset 64`;
  const second = `${PATH}: damaged at offset ${places[1]!.offset}`;
  expect(() => readEntries(segments, 8, places, 5)).toThrow(`${first}: entry 5 of replica 8`);
  expect(() => readEntries(segments, 7, places, 4)).toThrow(`${first}: entry 4 of replica 7`);
  const jumping = [places[0]!, places[2]!];
  const third = `${PATH}: damaged at offset ${places[2]!.offset}`;
  expect(() => readEntries(segments, 7, jumping, 5)).toThrow(`${third}: entry 6 of replica 7`);
  await expect(readEntry(segment, places[1]!, 8, 6)).rejects.toThrow(second);
  await expect(readEntry(segment, places[1]!, 7, 5)).rejects.toMatchObject({ code: 'CORRUPT' });
});
