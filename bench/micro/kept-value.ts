/** A value that was read lately, given again in the place of a point read of LevelDB. */
import { seededRandom } from '../../src/common/random.ts';
import { encodeKey } from '../../src/datanode/encoding/records/key.ts';
import { ValueRing } from '../../src/datanode/partition/remembering/value-ring.ts';
import { keyOf, type Micro } from './micro.ts';

/** More than a processor's caches hold, as on a node. */
const KEYS = 100_000;
const RING_BYTES = 32 * 1_048_576;
/** A record of 100 bytes: header and seal. */
const VALUE = Buffer.alloc(106, 'v');

export const keptValue: Micro = {
  text: `partition: give one of ${KEYS} values again that were read`,
  async prepare() {
    const ring = new ValueRing(seededRandom(1), RING_BYTES);
    const engine = ring.newEngine();
    const keys = Array.from({ length: KEYS }, (_, at) => encodeKey(keyOf(at)));
    for (const key of keys) ring.keep(engine, key, VALUE);
    let at = 0;
    let found = 0;
    return (commands) => {
      for (let done = 0; done < commands; done++) {
        at = (at + 7_919) % KEYS;
        if (ring.get(engine, keys[at]!) !== undefined) found++;
      }
      if (found === 0) throw new Error('no value was kept');
      return commands;
    };
  },
};
