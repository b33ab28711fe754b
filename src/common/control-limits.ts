/**
 * Bounds of the control path: the metadata store and what is in it, what a placedriver works out, and
 * the doors for HTTP, which all processes have. They are part of `limits` (`limits.ts`), which is what
 * others import.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

export const controlLimits = {
  // configuration and HTTP
  configBytesMax: 256 * KIB, // a configuration file
  httpBodyBytesMax: 64 * KIB, // body of a request to the HTTP API
  /** Path and headers of one. */
  httpHeaderBytesMax: 16 * KIB,
  /** Until a request to an HTTP door is there as a whole. */
  httpRequestMs: 30_000,
  /** Connections of an HTTP door, and of others that are being told that there is no room. */
  httpConnectionsMax: { datanode: 32, placedriver: 1_024 },
  httpRefusedMax: 4,

  // placedriver
  /** What happened to the cluster lately, as a placedriver tells it. */
  clusterEventsMax: 10_000,
  /** Work of a placedriver's plans in one turn of the event loop; a step more at most. */
  planSliceMs: 5,

  // metadata
  metaValueBytesMax: 1 * MIB,
  metaTxnOperationsMax: 128,
  metaKeyBytesMax: 4 * KIB,
  /** Keys and values of one transaction: below the 1.5 MiB that etcd takes unless told otherwise. */
  metaTxnBytesMax: 1.25 * MIB,
  /** Keys and values that several reads of one transaction look at, in the embedded store. */
  metaTxnReadBytesMax: 32 * MIB,
  metaReplicasMax: 64, // that one record names
  metaStoppedMax: 1_024, // replicas that stopped after a fault, as their node tells one by one
  namespaceNameMax: 255,
  /** Records of deleted groups; of more, those whose groups follow one another become one. */
  deletionsApartMax: 64,
  namespacePartitionsMax: 1_024,
  namespaceReplicasMax: 7,
  namespaceTagsMax: 16,
  namespaceTagMax: 255,
  /** Groups given up that one record names: more rebuilds of a partition are refused. */
  metaRebuildsMax: 64,
  metaRequestBytesMax: 2 * MIB,
  /** Keys and values that live in the embedded store. */
  metaDataBytesMax: 256 * MIB,
  metaLeasesMax: 100_000,
  metaLeaseSecondsMax: 31_536_000,
  /** Events kept for watches that lag; older ones are compacted away. */
  metaHistoryEventsMax: 50_000,
  metaHistoryBytesMax: 64 * MIB,
  metaWatchesPerStreamMax: 1_024,
  metaWatchResponseBytes: 1 * MIB,
  /** The embedded store's log is replaced by a snapshot once it is this large. */
  metaLogBytes: 8 * MIB,
  metaLogBatchBytesMax: 16 * MIB,
  metaWritesWaitingMax: 16_384,
  metaReadsWaitingMax: 4_096,
} as const;
