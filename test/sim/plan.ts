/**
 * Everything a run is made of, drawn from its seed: the cluster, its limits, the workload and the
 * faults with their times. A plan is data, so a failing one can be made smaller and run again.
 */
import { type Random, seededRandom } from '../../src/common/random.ts';

export const faultKinds = [
  'crash',
  'crashAll',
  'pause',
  'partition',
  'oneWay',
  'isolateLeader',
  'reset',
  'clockJump',
  'diskError',
  'diskFull',
  'diskSlow',
  'bitFlip',
  'wipe',
  'metaDown',
  'metaSlow',
  'metaCompact',
  'loseLease',
  'driverCrash',
] as const;

/** What happens to clients of the SDK: their links to nodes and placedriver, and their processes. */
const clientFaultKinds = ['clientCut', 'clientReset', 'clientPause'] as const;

/** What comes late on one connection while others, later ones as well, bring what they have. */
export const linkFaultKinds = ['lag', 'straggle'] as const;

/**
 * `changeReads` is an operator's doing; it and what happens to clients are drawn apart. `metaLate`,
 * some nodes hear of the store later than others, and `restartOthers`, all but the leader restart while
 * it stands still, are of the plans about leases alone, `rebuild` of those about rebuilds, `move` and
 * `handOver`, an operator's doing as well, of those about caching.
 */
export type FaultKind =
  | (typeof faultKinds)[number]
  | (typeof clientFaultKinds)[number]
  | (typeof linkFaultKinds)[number]
  | 'changeReads'
  | 'metaLate'
  | 'rebuild'
  | 'restartOthers'
  | 'move'
  | 'handOver';

export interface Fault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly durationMs: number;
  /** Drawn numbers in [0, 1): which node, how strong; what they mean is up to the kind. */
  readonly draws: readonly number[];
}

export interface Absence {
  /** In [0, 1): in which order nodes are looked at; those that no group needs stay away. */
  readonly draw: number;
  /** Without power, standing still, or cut off from the other nodes while the store hears of it. */
  readonly how: 'power' | 'pause' | 'cut';
}

/** A process with one client of the SDK. */
export interface SdkPlan {
  /** Who tells it the partitions; only placedrivers give it sessions. */
  readonly kind: 'sessions' | 'plain' | 'datanodes';
  /** It gives nothing up: with sessions it is told what became of every write. */
  readonly patient: boolean;
  /** Calls under way at a time. */
  readonly loops: number;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly lookupMs: number;
  readonly maxInFlight: number;
  readonly maxQueued: number;
}

export interface RunPlan {
  readonly seed: string;
  /** Drawn by another drawer than `drawPlan`. */
  readonly about?:
    | 'leases'
    | 'deadlines'
    | 'snapshots'
    | 'types'
    | 'queues'
    | 'sdk'
    | 'followers'
    | 'links'
    | 'rebuilds'
    | 'caching';
  readonly nodes: number;
  /** Data centres, over which the nodes are dealt out in turn; 1: no node tells of any. */
  readonly dataCentres: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly clients: number;
  readonly keys: number;
  readonly safetyMs: number;
  /** Whoever stays away at first when faults are over; undefined: nobody. */
  readonly absence: Absence | undefined;
  /** Pause of a client between two commands, at most. */
  readonly thinkMs: number;
  readonly tickMs: number;
  /** How long a turn of a node's event loop takes: what comes in meanwhile is gathered. */
  readonly turnMs: number;
  readonly electionTicks: number;
  /** Quiet ticks after which a group sleeps; 0: never. */
  readonly sleepAfterTicks: number;
  /** What most commands are about. */
  readonly topic: 'mixed' | 'registers' | 'expiry' | 'types';
  /** Clients empty the keyspace now and then; nothing is there that has to stay. */
  readonly flushes: boolean;
  readonly messageBytesMax: number;
  readonly logKeepEntries: number;
  readonly logKeepBytes: number;
  /** A log longer than this is not held for followers: they are sent snapshots. */
  readonly logHeldBytes: number;
  readonly segmentBytes: number;
  readonly engineRotateBytes: number;
  /** A larger batch of an engine, if it has a few operations, is written in parts. */
  readonly engineWholeBytes: number;
  /** So few reads that find nothing, and a node looks through its keys. */
  readonly keyFilterMisses: number;
  readonly engineSyncMs: number;
  /** This share of an engine's batches waits so long, at most, before it is written. */
  readonly engineStalls: { readonly share: number; readonly ms: number };
  readonly latencyMinMs: number;
  readonly latencyMaxMs: number;
  /** What one connection carries, each way. */
  readonly bytesPerMs: number;
  readonly splitChance: number;
  readonly mergeChance: number;
  readonly diskLatencyMs: number;
  /** Wall clocks differ by this much at most, and run this much too fast or slow. */
  readonly skewMs: number;
  readonly drift: number;
  readonly reads: 'linearizable' | 'lease';
  readonly leasePromiseMs: number;
  readonly faults: readonly Fault[];
  /** Clients beside the others that block for elements. */
  readonly consumers: number;
  readonly sdk: readonly SdkPlan[];
  /** Clients that read at the follower-read ports, and how old their answers may be. */
  readonly followers: number;
  readonly staleMs: number;
  /** Clients that keep what they read until they are told that it changed. */
  readonly cachers?: number;
}

type LogLimits = Pick<
  RunPlan,
  'logKeepEntries' | 'logKeepBytes' | 'logHeldBytes' | 'engineSyncMs' | 'engineStalls'
>;

/** Most runs look closely: one partition, few keys, and faults that bring one thing about. */
const focuses = ['everything', 'leaders', 'power', 'members', 'snapshots'] as const;

const focusKinds: Readonly<
  Record<Exclude<(typeof focuses)[number], 'everything'>, readonly FaultKind[]>
> = {
  leaders: ['isolateLeader', 'pause', 'oneWay', 'crash', 'clockJump'],
  power: ['crashAll', 'crash', 'diskError', 'diskSlow'],
  members: ['wipe', 'bitFlip', 'crash', 'reset', 'diskSlow'],
  snapshots: ['pause', 'oneWay', 'isolateLeader', 'crash'],
};

/** One plan of so many is about commands over all types. */
const TYPES_SHARE = 4;

/** Of plans that may: one of so many has clients of the SDK, one of so many readers of followers. */
const SDK_SHARE = 4;
const FOLLOWERS_SHARE = 4;

const engineStalls = [
  { share: 0, ms: 0 },
  { share: 0.3, ms: 20 },
  { share: 0.2, ms: 400 },
  { share: 0.1, ms: 2_000 },
] as const;

/** In half of the plans nothing is large, in the others most that is more than one command. */
const engineWholeBytes = [100, 600, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

/** In half of the plans each event is a turn of its own; in the others many clients share one. */
const turnsMs = [0, 0, 0.5, 3] as const;

/** Half of the networks are as fast as they like; the slowest carry 100 KB/s per connection. */
const bandwidths = [100, 2_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

/** `reads` instead of what the seed draws. */
export function drawPlan(seed: string, reads?: RunPlan['reads']): RunPlan {
  const random = seededRandom(`plan ${seed}`);
  const focus = pick(random, focuses);
  const focused = focus !== 'everything';
  const keyed = focus === 'leaders' ? pick(random, ['registers', 'expiry'] as const) : 'mixed';
  // drawn apart: the other plans are what they would be without
  const types = seededRandom(`types ${seed}`);
  const topic = types.below(TYPES_SHARE) === 0 ? 'types' : keyed;
  const leases = drawLeases(seededRandom(`reads ${seed}`), topic, reads);
  const sdk = drawSdk(seededRandom(`sdk ${seed}`), topic);
  const nodes = focused ? 3 : pick(random, [3, 3, 3, 3, 4, 5]);
  const safetyMs = 4_000 + random.below(5_000);
  return {
    seed,
    nodes,
    dataCentres: pick(seededRandom(`data centres ${seed}`), [1, 1, 2, 3]),
    partitions: focused ? 1 : 1 + random.below(3),
    replicas: nodes === 5 ? pick(random, [3, 5]) : 3,
    clients: fewer(sdk.length, focused ? 5 : 2 + random.below(4)),
    keys: focused ? 1 + random.below(2) : 2 + random.below(6),
    safetyMs,
    thinkMs: pick(random, focused ? [2, 10] : [2, 10, 40]),
    tickMs: pick(random, [40, 70, 100]),
    turnMs: pick(seededRandom(`turns ${seed}`), turnsMs),
    electionTicks: pick(random, [6, 8, 10]),
    topic,
    flushes: topic === 'types' && types.below(4) === 0,
    consumers: topic === 'types' ? 2 + types.below(3) : 0,
    absence: { draw: random.float(), how: pick(random, ['power', 'pause', 'cut', 'cut']) },
    sleepAfterTicks: pick(random, [0, 5, 20]),
    messageBytesMax: pick(random, [1, 300, 1_048_576]),
    ...(focus === 'snapshots' ? shortLog(random) : drawLog(random)),
    segmentBytes: pick(random, [16, 64, 256]) * 1_024,
    engineRotateBytes: pick(random, [2, 16, 256]) * 1_024,
    engineWholeBytes: pick(seededRandom(`large writes ${seed}`), engineWholeBytes),
    keyFilterMisses: pick(seededRandom(`key filters ${seed}`), [1, 5, 30]),
    latencyMinMs: pick(random, [0.1, 1, 5]),
    latencyMaxMs: pick(random, [6, 12, 40]),
    // drawn apart: plans of before keep everything else. What commands of all types write takes
    // the slowest networks longer than clients wait.
    bytesPerMs: pick(
      random.fork('bandwidth'),
      topic === 'types' ? bandwidths.slice(1) : bandwidths,
    ),
    splitChance: pick(random, [0, 0.2, 0.6]),
    mergeChance: pick(random, [0, 0.5, 0.9]),
    diskLatencyMs: pick(random, [0.1, 0.5, 4]),
    skewMs: pick(random, [0, 100, 400]),
    drift: pick(random, [0, 0.0005, 0.01]),
    ...leases,
    sdk,
    ...drawFollowers(seededRandom(`followers ${seed}`), topic),
    ...(topic === 'expiry' && drawExpiryReaders(seededRandom(`expiry readers ${seed}`), sdk)),
    faults: [
      ...(focus === 'everything'
        ? drawFaults(random, safetyMs)
        : focusedFaults(random, safetyMs, [
            keyed === 'expiry' ? 'clockJump' : pick(random, focusKinds[focus]),
            pick(random, focusKinds[focus]),
          ])),
      ...drawChangesOfReads(seededRandom(`changes of reads ${seed}`), safetyMs, leases.reads),
      ...drawLinkFaults(seededRandom(`late links ${seed}`), safetyMs),
      ...(sdk.length > 0 ? drawClientFaults(seededRandom(`sdk faults ${seed}`), safetyMs) : []),
    ].sort((a, b) => a.atMs - b.atMs),
  };
}

/** The faults of a plan, met by three clients of the SDK that give nothing up, and by nobody else. */
export function patientPlan(plan: RunPlan): RunPlan {
  const limits = { timeoutMs: 120_000, attemptTimeoutMs: 1_500, lookupMs: 3_000 };
  const patient = { kind: 'sessions', patient: true, loops: 1, ...limits } as const;
  const sdk = { ...patient, maxInFlight: 64, maxQueued: 1_000 };
  const nobody = { clients: 0, consumers: 0, followers: 0, flushes: false };
  return { ...plan, ...nobody, topic: 'mixed', partitions: 2, sdk: [sdk, sdk, sdk] };
}

/** Clients of the SDK take the places of others, so that a run costs what it did. */
function fewer(sdk: number, clients: number): number {
  return Math.max(1, clients - 2 * sdk);
}

function drawSdk(random: Random, topic: RunPlan['topic']): SdkPlan[] {
  if (random.below(SDK_SHARE) > 0 || topic === 'types') return [];
  return Array.from({ length: 1 + random.below(2) }, () => ({
    kind: pick(random, ['sessions', 'plain', 'datanodes'] as const),
    patient: false,
    loops: 1 + random.below(2),
    timeoutMs: pick(random, [1_000, 4_000, 15_000]),
    attemptTimeoutMs: pick(random, [200, 1_000, 6_000]),
    lookupMs: pick(random, [300, 3_000]),
    maxInFlight: pick(random, [1, 4, 64]),
    maxQueued: pick(random, [1, 8, 1_000]),
  }));
}

function drawFollowers(
  random: Random,
  topic: RunPlan['topic'],
): Pick<RunPlan, 'followers' | 'staleMs'> {
  const staleMs = pick(random, [100, 500, 2_000]);
  const none = random.below(FOLLOWERS_SHARE) > 0 || topic === 'types' || topic === 'expiry';
  return { followers: none ? 0 : 1 + random.below(2), staleMs };
}

/** Half of the plans about deadlines read them at followers as well. */
function drawExpiryReaders(random: Random, sdk: readonly SdkPlan[]): { followers?: number } {
  return sdk.length > 0 || random.below(2) > 0 ? {} : { followers: 2 };
}

function drawClientFaults(random: Random, safetyMs: number): Fault[] {
  const kinds = clientFaultKinds.filter(() => random.below(3) > 0);
  if (kinds.length === 0) return [];
  const meanMs = pick(random, [150, 500, 1_500]);
  const faults: Fault[] = [];
  for (let atMs = 500; atMs < safetyMs; atMs += 20 + random.below(2 * meanMs)) {
    const durationMs = pick(random, [50, 500, 3_000]) * (0.5 + random.float());
    const draws = [random.float(), random.float(), random.float(), random.float()];
    faults.push({ kind: pick(random, kinds), atMs, durationMs, draws });
  }
  return faults;
}

/** In one plan of three connections bring late what they carry. */
function drawLinkFaults(random: Random, safetyMs: number): Fault[] {
  if (random.below(3) > 0) return [];
  return focusedFaults(random, safetyMs, linkFaultKinds);
}

/** Half of the plans with leases do without them for a while, some others have them for a while. */
function drawChangesOfReads(random: Random, safetyMs: number, reads: RunPlan['reads']): Fault[] {
  if (random.below(reads === 'lease' ? 2 : 8) > 0) return [];
  const changes: Fault[] = [];
  for (let atMs = 800; atMs < safetyMs; atMs += 200 + random.below(3_000)) {
    changes.push({ kind: 'changeReads', atMs, durationMs: 0, draws: [random.float()] });
  }
  return changes;
}

/**
 * One plan of four has leases. In some of them clocks drift nearly as far apart as leases allow, where
 * no time is told to clients.
 */
function drawLeases(
  random: Random,
  topic: RunPlan['topic'],
  wanted?: RunPlan['reads'],
): Pick<RunPlan, 'reads' | 'leasePromiseMs'> & Partial<Pick<RunPlan, 'drift'>> {
  const drawn = random.below(4) === 0 ? 'lease' : 'linearizable';
  const reads = wanted ?? drawn;
  const leasePromiseMs = pick(random, [200, 500, 1_000]);
  const far = topic === 'registers' && random.below(2) === 0;
  return { reads, leasePromiseMs, ...(reads === 'lease' && far && { drift: 0.05 }) };
}

function drawLog(random: Random): LogLimits {
  return {
    logKeepEntries: pick(random, [3, 20, 200]),
    logKeepBytes: pick(random, [200, 4_000, 100_000]),
    logHeldBytes: pick(random, [4_000, 20_000, 1_000_000]),
    engineSyncMs: pick(random, [50, 200, 1_000]),
    engineStalls: pick(random, engineStalls),
  };
}

/** Whoever was away for a moment is sent a snapshot, often while it still applies what it had. */
function shortLog(random: Random): LogLimits {
  return {
    logKeepEntries: 3,
    logKeepBytes: 200,
    logHeldBytes: 4_000,
    engineSyncMs: 50,
    engineStalls: pick(random, engineStalls.slice(2)),
  };
}

/** Two kinds of faults that bring something about, in quick succession. */
export function focusedFaults(
  random: Random,
  safetyMs: number,
  kinds: readonly FaultKind[],
): Fault[] {
  const meanMs = pick(random, [150, 400, 1_000]);
  const longestMs = pick(random, [100, 600, 2_500]);
  const faults: Fault[] = [];
  for (let atMs = 500; atMs < safetyMs; atMs += meanMs * 2 * random.float()) {
    const kind = kinds[random.below(2)]!;
    const draws = [random.float(), random.float(), random.float(), random.float()];
    faults.push({ kind, atMs, durationMs: 20 + longestMs * random.float(), draws });
  }
  return faults;
}

/** Swarm: each run has a part of the kinds, and its own rate. */
function drawFaults(random: Random, safetyMs: number): Fault[] {
  const active = faultKinds.filter(() => random.below(5) < 2);
  if (active.length === 0) active.push('crash');
  const meanMs = pick(random, [400, 900, 2_000]);
  const faults: Fault[] = [];
  for (let atMs = 500 + random.below(1_000); atMs < safetyMs; ) {
    const kind = active[random.below(active.length)]!;
    const durationMs = pick(random, [50, 300, 1_000, 3_000]) * (0.5 + random.float());
    const draws = [random.float(), random.float(), random.float(), random.float()];
    faults.push({ kind, atMs, durationMs, draws });
    atMs += 20 + random.below(2 * meanMs);
  }
  return faults;
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random.below(choices.length)]!;
}
