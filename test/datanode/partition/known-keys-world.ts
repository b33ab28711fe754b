/** What engines need for their filters of keys, in tests. */
import { systemClock } from '../../../src/common/clock.ts';
import { FilterMemory } from '../../../src/datanode/partition/key-filter.ts';
import type { KnownKeysWorld } from '../../../src/datanode/partition/known-keys.ts';

export function knownKeysWorld(changes: Partial<KnownKeysWorld> = {}): KnownKeysWorld {
  return { clock: systemClock, memory: new FilterMemory(), missesMin: 10, ...changes };
}
