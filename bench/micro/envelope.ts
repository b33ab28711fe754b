/** The commands of a turn as the data of a log entry, and back. */
import { decodeEnvelope, encodeEnvelope } from '../../src/datanode/partition/entries/envelope.ts';
import { type Micro, setCommand, TURN } from './micro.ts';

export const TIME_MS = 1_700_000_000_000;

/** An entry with a turn of SETs. */
export function entryData(seed: number): Buffer {
  const lines = Array.from({ length: TURN }, (_, at) => setCommand(seed * TURN + at));
  return encodeEnvelope({ timeMs: TIME_MS, seed, body: { family: 'redis', lines } });
}

export const encodeEntry: Micro = {
  text: `partition: encode SETs into an entry, ${TURN} in one`,
  async prepare() {
    const lines = Array.from({ length: TURN }, (_, at) => setCommand(at));
    const body = { family: 'redis', lines } as const;
    let bytes = 0;
    return (wanted) => {
      let done = 0;
      for (; done < wanted; done += TURN) {
        bytes += encodeEnvelope({ timeMs: TIME_MS, seed: done, body }).length;
      }
      if (bytes === 0) throw new Error('nothing was encoded');
      return done;
    };
  },
};

export const decodeEntry: Micro = {
  text: `partition: decode SETs from an entry, ${TURN} in one`,
  async prepare() {
    const data = entryData(1);
    return (wanted) => {
      let done = 0;
      while (done < wanted) {
        const { body } = decodeEnvelope(data);
        if (body.family !== 'redis') throw new Error('it is an entry of commands');
        done += body.lines.length;
      }
      return done;
    };
  },
};
