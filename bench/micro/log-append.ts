/** The node's log, on a disk that takes no time: encoding, checksums, the batch of a turn. */
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { openSharedLog } from '../../src/datanode/raftlog/shared-log.ts';
import { entryData } from './envelope.ts';
import { createMemoryDisk } from './memory-disk.ts';
import { type Micro, TURN } from './micro.ts';

/** Groups that append in the same turn, as on a node under load. */
const GROUPS = 8;
const COMPACT_EVERY = 256;

export const logAppend: Micro = {
  text: `raftlog: append an entry of ${TURN} commands, ${GROUPS} groups in a batch, disk left out`,
  async prepare() {
    const log = await openSharedLog({
      ...{ disk: createMemoryDisk(), dir: '/log', clock: systemClock, logger: silentLogger },
      segmentBytes: 4 * 1024 * 1024,
      onFailure: (error) => {
        throw error;
      },
    });
    const groups = Array.from({ length: GROUPS }, (_, at) => at + 1);
    const base = { index: 0, term: 0 };
    for (const replica of groups) {
      log.append({ replica, reset: { base, generation: 0 } }, () => {});
    }
    await log.flush();
    const data = entryData(1);
    let index = 0;
    return async (wanted) => {
      let done = 0;
      while (done < wanted) {
        index++;
        const compact = index % COMPACT_EVERY === 0 ? { index: index - 1, term: 1 } : undefined;
        await new Promise<void>((resolve) => {
          let waiting = GROUPS;
          for (const replica of groups) {
            const entries = [{ index, term: 1, kind: 'normal', data }] as const;
            log.append({ replica, entries, ...(compact && { compact }) }, () => {
              if (--waiting === 0) resolve();
            });
          }
        });
        done += GROUPS * TURN;
      }
      return done;
    };
  },
};
