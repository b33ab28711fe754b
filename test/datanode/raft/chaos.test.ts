/**
 * Message chaos against the pure core: replicas whose messages are dropped, repeated and
 * reordered, which crash with half-written disks, are partitioned, change members and hand over
 * leadership. A failure names its seed: KVORUM_SEED=n runs that one alone.
 */
import { expect, test } from 'vitest';
import { type Random, seededRandom } from '../../../src/common/random.ts';
import { scale } from '../../scale.ts';
import { ChaosGroup, type ChaosSettings } from './chaos-group.ts';

const STEPS = 4_000;
const BATCHES = 10;

function drawSettings(random: Random): ChaosSettings {
  const lease = random.below(5) === 0;
  const strict = lease || random.below(4) > 0;
  return {
    voters: 3 + random.below(3),
    async: random.below(4) > 0,
    lease,
    preVote: strict || random.below(2) === 0,
    checkQuorum: strict || random.below(2) === 0,
    electionTicks: 3 + random.below(6),
    messageBytesMax: 20 + random.below(200),
    committedBytesMax: 20 + random.below(400),
    uncommittedBytesMax: 50 + random.below(400),
    inflightMessagesMax: 1 + random.below(6),
    dropPermille: random.below(150),
    repeatPermille: random.below(200),
    faultsPermille: random.below(30),
  };
}

function runSeed(seed: number): void {
  const random = seededRandom(seed);
  const settings = drawSettings(random);
  try {
    const group = new ChaosGroup(random, settings);
    group.run(STEPS);
    group.settle();
  } catch (error) {
    throw new Error(`seed ${seed} with ${JSON.stringify(settings)}`, { cause: error });
  }
}

const only = process.env['KVORUM_SEED'];
const count = scale.raftChaosSeeds;

if (only === undefined) {
  for (let batch = 0; batch < BATCHES; batch++) {
    const from = Math.floor((count * batch) / BATCHES) + 1;
    const to = Math.floor((count * (batch + 1)) / BATCHES);
    test(`seeds ${from} to ${to} keep the group safe, and it recovers`, () => {
      for (let seed = from; seed <= to; seed++) runSeed(seed);
      expect(to - from).toBeGreaterThanOrEqual(0);
    });
  }
} else {
  test(`seed ${only} keeps the group safe, and it recovers`, () => {
    runSeed(Number(only));
  });
}
