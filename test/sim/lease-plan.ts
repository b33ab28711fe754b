/**
 * Plans that look at leases alone, where the others have one in four and few moments of danger: short
 * promises, clocks apart as far as leases allow, reads all the time; elections and answers that come
 * late; leases that are to be and not to be in turn, which some nodes hear of later than others. One
 * of three has long promises: all voters restart while the leader, which stands still, has its lease.
 */
import { type Random, seededRandom } from '../../src/common/random.ts';
import { drawPlan, type Fault, type FaultKind, pick, type RunPlan } from './plan.ts';

/** All the time, and together with the others. */
const KINDS: readonly FaultKind[] = ['isolateLeader', 'oneWay', 'pause', 'clockJump', 'crash'];

export function drawLeasePlan(seed: string): RunPlan {
  const random = seededRandom(`leases ${seed}`);
  const safetyMs = 4_000 + random.below(3_000);
  const restarts = random.fork('restarts').below(3) === 0;
  return {
    ...drawPlan(seed, 'lease'),
    about: 'leases',
    ...{ nodes: 3, partitions: 1, replicas: 3, clients: 5, keys: 1 + random.below(2) },
    ...{
      safetyMs,
      thinkMs: 2,
      topic: 'registers',
      flushes: false,
      consumers: 0,
      absence: undefined,
    },
    tickMs: pick(random, [40, 70]),
    electionTicks: pick(random, [6, 8]),
    sleepAfterTicks: pick(random, [0, 0, 5]),
    latencyMaxMs: pick(random, [6, 40]),
    bytesPerMs: Number.POSITIVE_INFINITY,
    drift: pick(random, [0, 0.05]),
    leasePromiseMs: pick(random, [200, 500]),
    ...{ sdk: [], followers: 0 },
    faults: drawFaults(random, safetyMs).sort((a, b) => a.atMs - b.atMs),
    ...(restarts && drawRestarts(random, safetyMs)),
  };
}

function drawFaults(random: Random, safetyMs: number): Fault[] {
  const faults: Fault[] = [];
  /** Of one kind after the other, `meanMs` apart. */
  const add = (kinds: readonly FaultKind[], meanMs: number, longestMs: number) => {
    for (let atMs = 500; atMs < safetyMs; atMs += meanMs * 2 * random.float()) {
      const draws = [random.float(), random.float(), random.float(), random.float()];
      const durationMs = 20 + longestMs * random.float();
      faults.push({ kind: pick(random, kinds), atMs, durationMs, draws });
    }
  };
  add(['changeReads'], 400, 0);
  add(['metaLate'], 600, 2_000);
  add(KINDS, pick(random, [400, 1_000]), pick(random, [100, 600]));
  return faults;
}

/** Long enough for the others to elect one, short enough that the lease of the former one still runs. */
function drawRestarts(random: Random, safetyMs: number): Partial<RunPlan> {
  const faults: Fault[] = [];
  for (let atMs = 1_500; atMs < safetyMs; atMs += 2_500 + 1_000 * random.float()) {
    const durationMs = 900 + 900 * random.float();
    faults.push({ kind: 'restartOthers', atMs, durationMs, draws: [random.float()] });
  }
  return { tickMs: 40, electionTicks: 6, sleepAfterTicks: 0, leasePromiseMs: 1_500, faults };
}
