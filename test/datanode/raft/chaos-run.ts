/** One run of message chaos against the pure core, drawn from a seed. */
import { type Random, seededRandom } from '../../../src/common/random.ts';
import { ChaosGroup, type ChaosSettings } from './chaos-group.ts';

const STEPS = 4_000;

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
    readFanout: random.below(3) === 0 ? 'all' : 'quorum',
    appendFanout: random.below(3) === 0 ? 'all' : 'quorum',
  };
}

/** One group under message chaos; throws with the seed and its settings. */
export function runChaos(seed: number): void {
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
