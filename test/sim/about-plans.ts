/**
 * Plans that look at one thing alone, closer than those that a seed draws by itself: `--about`, and
 * where bugs are looked for that show seldom elsewhere.
 */
import { type Random, seededRandom } from '../../src/common/random.ts';
import { drawLeasePlan } from './lease-plan.ts';
import {
  drawPlan,
  type Fault,
  type FaultKind,
  focusedFaults,
  linkFaultKinds,
  pick,
  type RunPlan,
  type SdkPlan,
} from './plan.ts';

export const aboutPlans: Readonly<
  Record<NonNullable<RunPlan['about']>, (seed: string) => RunPlan>
> = {
  leases: drawLeasePlan,
  deadlines: drawDeadlinePlan,
  snapshots: drawSnapshotPlan,
  types: drawTypesPlan,
  queues: drawQueuePlan,
  sdk: drawSdkPlan,
  followers: drawFollowerPlan,
  links: drawLinkPlan,
  rebuilds: drawRebuildPlan,
  caching: drawCachingPlan,
};

/** What they have in common: one partition of three nodes that is looked at closely. */
function near(seed: string, about: NonNullable<RunPlan['about']>): RunPlan {
  return {
    ...drawPlan(seed, 'linearizable'),
    about,
    ...{
      nodes: 3,
      partitions: 1,
      replicas: 3,
      absence: undefined,
      sdk: [],
      followers: 0,
      consumers: 0,
    },
    ...{ clients: 5, thinkMs: 2, safetyMs: 4_000, flushes: false, tickMs: 40, electionTicks: 6 },
    ...{ sleepAfterTicks: 0, latencyMaxMs: 6, bytesPerMs: Number.POSITIVE_INFINITY },
  };
}

function faultsOf(seed: string, kinds: readonly FaultKind[], safetyMs: number): Fault[] {
  return focusedFaults(seededRandom(`faults about ${seed}`), safetyMs, kinds);
}

/**
 * Clocks apart, and leaders that change while deadlines pass. In half of them one clock alone is set,
 * again and again: then a quorum of the clocks is right all the time. Followers are read as well.
 */
function drawDeadlinePlan(seed: string): RunPlan {
  const plan = near(seed, 'deadlines');
  const drawn = faultsOf(seed, ['isolateLeader', 'clockJump'], plan.safetyMs);
  const random = seededRandom(`one clock ${seed}`);
  const one = random.below(2) === 0 ? random.float() : undefined;
  const faults = drawn.map((fault) =>
    one === undefined || fault.kind !== 'clockJump'
      ? fault
      : { ...fault, draws: [one, ...fault.draws.slice(1)] },
  );
  const readers = { followers: 2, staleMs: 100 };
  return { ...plan, topic: 'expiry', ...readers, skewMs: 400, drift: 0.01, faults };
}

/** Who was away is sent a snapshot, and hears of another leader before its engine is exchanged. */
function drawSnapshotPlan(seed: string): RunPlan {
  const plan = near(seed, 'snapshots');
  const random = seededRandom(`snapshots ${seed}`);
  const engineStalls = { share: 0.5, ms: pick(random, [200, 1_000]) };
  const shortLog = { logKeepEntries: 3, logKeepBytes: 200, logHeldBytes: 4_000, engineSyncMs: 50 };
  const kinds: readonly FaultKind[] = ['isolateLeader', pick(random, ['pause', 'crash', 'oneWay'])];
  const faults = faultsOf(seed, kinds, plan.safetyMs);
  return { ...plan, topic: 'registers', ...shortLog, engineStalls, faults };
}

/** Commands over all types, with the leader changing now and then. */
function drawTypesPlan(seed: string): RunPlan {
  const plan = near(seed, 'types');
  const faults = faultsOf(seed, ['isolateLeader', 'crash'], plan.safetyMs);
  return { ...plan, topic: 'types', consumers: 2, faults };
}

/** Many at once put into queues, take from them and wait for them; slow disks gather what they send. */
function drawQueuePlan(seed: string): RunPlan {
  const plan = near(seed, 'queues');
  const faults = faultsOf(seed, ['reset', 'isolateLeader'], plan.safetyMs);
  return { ...plan, topic: 'types', clients: 6, consumers: 8, diskLatencyMs: 4, faults };
}

/** Clients of the SDK whose links break while what they sent is carried out. */
function drawSdkPlan(seed: string): RunPlan {
  const plan = near(seed, 'sdk');
  const random = seededRandom(`sdk alone ${seed}`);
  const client = (kind: SdkPlan['kind']): SdkPlan => ({
    ...{ kind, patient: false, loops: 2, lookupMs: 300, maxQueued: 8 },
    timeoutMs: pick(random, [1_000, 4_000]),
    attemptTimeoutMs: pick(random, [200, 1_000]),
    maxInFlight: pick(random, [1, 4]),
  });
  const faults = [
    ...faultsOf(seed, ['clientReset', 'clientCut'], plan.safetyMs),
    ...faultsOf(`${seed} leaders`, ['isolateLeader', 'crash'], plan.safetyMs),
  ].sort((a, b) => a.atMs - b.atMs);
  const sdk = [client('sessions'), client('plain'), client('datanodes')];
  return { ...plan, topic: 'mixed', clients: 1, sdk, faults };
}

/** Followers that hear nothing for longer than their answers may be old, and are read all the time. */
function drawFollowerPlan(seed: string): RunPlan {
  const plan = near(seed, 'followers');
  const faults = faultsOf(seed, ['partition', 'oneWay'], plan.safetyMs);
  return { ...plan, topic: 'registers', keys: 1, followers: 4, staleMs: 100, faults };
}

/** Connections that bring late what they carry, while those that took their places do not. */
function drawLinkPlan(seed: string): RunPlan {
  const plan = near(seed, 'links');
  const random = seededRandom(`links ${seed}`);
  const faults = [
    ...faultsOf(seed, linkFaultKinds, plan.safetyMs),
    ...faultsOf(`${seed} leaders`, ['isolateLeader', 'crash'], plan.safetyMs),
  ].sort((a, b) => a.atMs - b.atMs);
  const reads = pick(random, ['linearizable', 'lease'] as const);
  return {
    ...plan,
    reads,
    leasePromiseMs: 200,
    topic: 'mixed',
    followers: 1,
    staleMs: 500,
    faults,
  };
}

/** All but the leader are lost, for as long as an operator needs, while the master and links fail. */
function drawRebuildPlan(seed: string): RunPlan {
  const plan = near(seed, 'rebuilds');
  const random = seededRandom(`rebuilds ${seed}`);
  const safetyMs = 16_000;
  const rebuilds: Fault[] = [];
  for (let atMs = 1_500; atMs < safetyMs - 5_000; atMs += 6_500 + 1_500 * random.float()) {
    rebuilds.push({ kind: 'rebuild', atMs, durationMs: 4_000 + 2_500 * random.float(), draws: [] });
  }
  const others = pick(random, [
    ['lag', 'straggle'],
    ['driverCrash', 'metaDown'],
    ['reset', 'pause'],
  ] as const);
  const faults = [...rebuilds, ...faultsOf(seed, others, safetyMs)];
  faults.sort((a, b) => a.atMs - b.atMs);
  return { ...plan, topic: 'mixed', thinkMs: 10, safetyMs, faults };
}

/**
 * Clients that keep what they read. In half of the plans links are cut, or nodes stand still, for longer
 * than it takes until a node finds out that it hears nothing; in the others leaders and replicas move. There
 * are so many keys that most rest for long enough for a value that nobody was told of to be found out.
 */
function drawCachingPlan(seed: string): RunPlan {
  const plan = near(seed, 'caching');
  const random = seededRandom(`caching ${seed}`);
  const safetyMs = 13_000;
  const isLong = random.below(2) === 0;
  const moves = pick(random, [
    ['crash', 'handOver'],
    ['handOver', 'isolateLeader'],
    ['move', 'handOver'],
    ['move', 'crash'],
    ['lag', 'straggle'],
    ['wipe', 'reset'],
  ] as const);
  const faults = isLong ? longFaults(random, safetyMs) : faultsOf(seed, moves, safetyMs);
  return {
    ...plan,
    ...{ topic: 'registers', clients: 2, cachers: 5, keys: 100, thinkMs: 100, safetyMs, faults },
    ...{ nodes: moves[0] === 'move' ? 4 : 3, tickMs: 100, engineStalls: { share: 0, ms: 0 } },
    reads: pick(random, ['linearizable', 'lease']),
  };
}

/** One after the other: the end of one heals all links. */
function longFaults(random: Random, safetyMs: number): Fault[] {
  const kinds = ['isolateLeader', 'partition', 'oneWay', 'pause'] as const;
  const faults: Fault[] = [];
  for (let atMs = 2_500; atMs < safetyMs - 4_000; ) {
    const draws = [random.float(), random.float(), random.float(), random.float()];
    const durationMs = 8_000 + 2_000 * random.float();
    faults.push({ kind: pick(random, kinds), atMs, durationMs, draws });
    atMs += durationMs + 500;
  }
  return faults;
}
