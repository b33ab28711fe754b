/**
 * How much the tests do: the small column in `npm test`, the large one in `npm run test:long`
 * (KVORUM_SCALE=long). One table, so that nobody has to search for counts.
 */
const table = {
  /** Seeds of message chaos against the raft core. */
  raftChaosSeeds: { small: 600, long: 10_000 },
  /** Seeds of histories with crashes against the raft log. */
  raftLogSeeds: { small: 60, long: 5_000 },
  /** Seeds of whole clusters under faults. */
  simulatorSeeds: { small: 200, long: 2_000 },
  /** Of those, how many run twice: a second run shows that nothing but the seed matters. */
  simulatorSeedsTwice: { small: 50, long: 2_000 },
  /** The same of plans that look at leases alone. */
  leaseSeeds: { small: 8, long: 400 },
  /** Drawn histories per property of the checker of linearizability. */
  linearizableHistories: { small: 300, long: 20_000 },
  /** Of the 108 histories that others have judged: the last alone takes as long as all before it. */
  publicHistories: { small: 107, long: 108 },
  /** How long real clusters are under faults, in minutes; from one on under every kind. */
  chaosMinutes: { small: 0.15, long: 10 },
  /** Seeds of whole clusters whose clients keep what they read. */
  cachingSeeds: { small: 2, long: 300 },
  /** Seeds of whole clusters that the SDK is driven against. */
  sdkSeeds: { small: 6, long: 200 },
  /** Transfers of leaders under the load of ZanRedisDB's clients. */
  zanTransfers: { small: 6, long: 200 },
  /** Restarts of nodes on a cluster's way to TLS between them, of nine. */
  tlsRestarts: { small: 1, long: 9 },
  /** kill -9 of datanodes under load, per scenario. */
  kills: { small: 3, long: 10 },
  /** Writes through the SDK while leaders are killed, stand still and move. */
  exactlyOnceWrites: { small: 5_000, long: 1_000_000 },
  /** How long clients of the matrix go on after each event, in milliseconds. */
  clientMatrixMs: { small: 250, long: 10_000 },
  /** Groups of a cluster in which a node stands still, and for how long. */
  groups: { small: 100, long: 1_000 },
  pauseSeconds: { small: 4, long: 10 },
  /** What a node that was away has to be sent, in MiB, at 4 MiB/s. */
  snapshotMiB: { small: 24, long: 240 },
  /** Cuts of the link to the metadata store, 120 ms apart. */
  metaCuts: { small: 30, long: 500 },
  /** Clusters with a real node that cannot be filled; else masters over the store in memory have one. */
  unfillableNodes: { small: 0, long: 1 },
  /** Seconds that etcd is stopped under a serving cluster. */
  etcdAwaySeconds: { small: 5, long: 60 },
  /** Bent inputs over all rooms of the engine; `npm run fuzz` does more. */
  fuzzInputs: { small: 5_000, long: 1_000_000 },
  /** Runs of each property about bad input, by what the input is. */
  fuzzConfigs: { small: 150, long: 10_000 },
  /** Starts of the command with a bad configuration. */
  fuzzCommands: { small: 2, long: 60 },
  fuzzFrames: { small: 500, long: 20_000 },
  fuzzResp: { small: 200, long: 20_000 },
  /** Connections that send bent streams. */
  fuzzRespStreams: { small: 1_000, long: 20_000 },
  fuzzRdb: { small: 3_000, long: 200_000 },
  /** Hostile programs, each run twice. */
  fuzzScripts: { small: 120, long: 50_000 },
  fuzzMetadata: { small: 500, long: 20_000 },
  fuzzSegments: { small: 300, long: 10_000 },
  fuzzSnapshots: { small: 150, long: 10_000 },
  /** Histories whose log files are bent. */
  fuzzLogImages: { small: 12, long: 300 },
  /** Longest time for one of these properties. */
  fuzzMinutes: { small: 1, long: 60 },
  /** Commands compared with redis-server, per family of commands and over both protocols. */
  differentialCommands: { small: 6_000, long: 100_000 },
  /** Seeds of data whose backups redis-server loads, and elements of the large collections there. */
  backupSeeds: { small: 1, long: 200 },
  backupElements: { small: 1_500, long: 200_000 },
  /** Programs in Lua compared with redis-server's runs; half as many per library. */
  luaPrograms: { small: 400, long: 100_000 },
  /** Commands, with transactions of two connections to a whole node. */
  transactionCommands: { small: 2_500, long: 100_000 },
  /** The same with reads over several partitions of a whole node. */
  gatherCommands: { small: 2_500, long: 100_000 },
  /** Elements of the collections whose commands are timed. */
  holdElements: { small: 8_000, long: 1_000_000 },
  /** Commands whose events of keys are compared with redis-server's, over all families. */
  keyEventCommands: { small: 5_000, long: 100_000 },
  trackingCommands: { small: 400, long: 40_000 },
  trackingRounds: { small: 1, long: 12 },
  /** The same with clients that block. */
  blockingCommands: { small: 2_000, long: 50_000 },
  /** Commands of the pipeline model, without kills. */
  modelCommands: { small: 5_000, long: 100_000 },
  /** kill -9 at random moments, one cluster. */
  randomKills: { small: 5, long: 400 },
  /** Losses of power at random moments of one recorded run. */
  powerLosses: { small: 16, long: 500 },
  /** Bits flipped in a datanode's files, each in a fresh copy: in each of eleven kinds at least once. */
  bitFlips: { small: 24, long: 400 },
  /** Bits flipped in snapshots on their way. */
  streamFlips: { small: 10, long: 100 },
} as const;

type Row = keyof typeof table;
const column = process.env['KVORUM_SCALE'] === 'long' ? 'long' : 'small';

export const scale: Readonly<Record<Row, number>> = Object.fromEntries(
  Object.entries(table).map(([row, counts]) => [row, counts[column]]),
) as Record<Row, number>;
