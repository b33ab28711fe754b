/**
 * Every bound of the product: here those of a datanode, in files beside this one those of the control
 * path, of scripts, of the SDK and of TLS. Relations between bounds are asserted at load. Units end the names. At a bound
 * there is back-pressure or a clear error, never silent growth.
 */
import { controlLimits } from './control-limits.ts';
import { assertAgreement } from './limits-agree.ts';
import { scriptLimits } from './script-limits.ts';
import { sdkLimits } from './sdk-limits.ts';
import { tlsLimits } from './tls/tls-limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  // requests (resp, server)
  requestArgumentsMax: 1_048_576,
  requestBulkBytesMax: 512 * MIB,
  /** All arguments of one request, or of a transaction's commands together: what one log entry holds. */
  requestBytesMax: 60 * MIB,
  requestInlineBytesMax: 64 * KIB,
  /** Of a client that has not authenticated: enough for HELLO and AUTH, as in Redis. */
  requestArgumentsUnknownMax: 10,
  requestBulkBytesUnknownMax: 16 * KIB,
  /** Default of the setting `value-bytes-max`. */
  valueBytesMax: 16 * MIB,
  keyBytesMax: 512 * KIB,
  /** Unanswered requests of one connection, by count and bytes: beyond, it is not read. */
  connectionInFlightMax: 4_096,
  connectionInFlightBytesMax: 32 * MIB,
  /** What requests of all clients of a node hold, near enough: beyond, the largest holder is closed; from
   * half of it on, unanswered requests of one connection have so many bytes. */
  clientsRequestBytesMax: 1024 * MIB,
  connectionInFlightTightBytes: 1 * MIB,
  /** Replies that clients of a node have not taken, near enough: beyond, whose are most is closed. */
  clientsReplyBytesMax: 1024 * MIB,
  /** On a small machine either is this part of its memory, and no less than so many bytes. */
  clientsMemoryShare: 16,
  clientsBytesMin: 256 * MIB,
  /** How long a connection that was ended waits for its peer to close as well. */
  closeLingerMs: 500,
  /** After so long without a byte the system asks a client's machine whether the connection is still there,
   * as Redis's `tcp-keepalive` has it: one that lost its power sends no end. */
  tcpKeepAliveMs: 300_000,
  /** Replies queued for one connection: beyond, it is not read; at the hard bound it is closed. */
  connectionOutputPauseBytes: 1 * MIB,
  connectionOutputBytesMax: 256 * MIB,
  /** Beyond, a read's reply that is not the next to leave is dropped, and the read made again later. */
  connectionOutputReadsBytes: 64 * MIB,
  /** Writes of one connection that may give back what they find: so many bytes of their replies may be
   * under way, with all that wait; one is expected to have them all before any has come. */
  connectionLongWritesBytes: 32 * MIB,
  clientsMax: 10_000,
  clientNameBytesMax: 1_024,
  /** However little room there is: an operator finds a way in. */
  clientsLeast: 16,
  /** Clients beyond `maxclients` that are being told so: others are closed without a word. */
  clientsRefusedMax: 16,
  /** Files that a datanode opens itself, beside clients and tables (`datanode/clients-room.ts`): it starts
   * with no less; log, links, doors, what Node.js has; of a replica its engine's, and one that is made. */
  openFilesMin: 256,
  openFilesOwn: 128,
  openFilesOfReplica: 6,
  /** One reply, near enough: a command that would answer more answers an error while it grows. */
  replyBytesMax: 64 * MIB,
  /** All replies of one transaction: beyond the first figure reads are refused; what a write would
   * answer beyond this one is left out. The same on every node: transactions run in apply. */
  execReplyBytesMax: 128 * MIB,
  execGrowthBytesMax: 256 * MIB, // what its commands may pad, or rewrite of what is stored
  rewrittenSmallBytes: 4 * KIB, // smaller values are rewritten uncounted (`partition/proposing/value-sizes.ts`)
  rewrittenLooksBytes: 32 * MIB, // of others, that a leader looks at in one turn, near enough
  rewrittenLooksMax: 4_096, // keys that it looks at for one command
  /** Replies, and values put, of entries applied in one engine batch: beyond, the next ones are of another. */
  applyReplyBytes: 16 * MIB,
  applyHeldBytes: 32 * MIB, // changes of such a batch: beyond, elements are stored early
  /** Replies of one batch of reads: beyond, the rest of the batch is read when these are sent. */
  batchReplyBytes: 8 * MIB,
  /** Reads of ranges that a node has under way (`partition/reading/range-room.ts`): so many small ones, of so many
   * bytes, and large ones, of all of which one alone goes on beyond so many; replies of one batch. */
  rangeReads: { smallMax: 16, smallBytes: 64 * KIB, largeMax: 4, largeBytes: 64 * MIB },
  rangeBatchBytes: 768 * KIB,
  /** What a command over keys of several partitions brings together, and what each of them gives
   * before more is asked of one at a time; of all such commands of a node that need more. */
  gatherBytesMax: 64 * MIB,
  gatherFirstBytesMax: 256 * KIB,
  gatherNodeBytesMax: 256 * MIB,

  // pub/sub
  /** A channel's or pattern's name: patterns are matched in time of pattern × name. */
  channelBytesMax: 64 * KIB,
  /** Subscriptions of all clients of a node, by count and by the bytes of their names. */
  subscriptionsMax: 1_048_576,
  subscriptionBytesMax: 256 * MIB,
  /** One frame of what a node tells a peer of its subscriptions, near enough. */
  subscriptionFrameBytes: 256 * KIB,
  /** As Redis's client-output-buffer-limit of pubsub: at once, and for longer than so many ms. */
  subscriberOutputBytesMax: 32 * MIB,
  subscriberOutputSoftBytes: 8 * MIB,
  subscriberOutputSoftMs: 60_000,
  /** Messages on their way to a node's clients (`pubsub/paced-delivery.ts`), in all and of one peer. */
  deliveries: { waitingMax: 262_144, bytesMax: 8 * MIB, batchBytes: 64 * KIB, peerBytes: 64 * KIB },
  /** SUBSCRIBE and UNSUBSCRIBE wait this long at most for peers to know of it. */
  subscribeTellMs: 1_000,

  // client side caching: changes that a replica keeps (keys, bytes), of one answer, looked at of one engine
  // batch; all replicas of a node together, beyond which each has what is spared; how long who asks is held, and
  // they are kept for nobody; how old a proof may be (see ARCHITECTURE.md)
  changes: {
    ...{ kept: 65_536, keptBytes: 8 * MIB, answerBytes: MIB, lookedMax: 16_384 },
    ...{ nodeBytes: 64 * MIB, spareBytes: 128 * KIB },
  },
  changesHoldMs: 1_000,
  changesForgottenMs: 30_000,
  trackingProofMs: 5_000,
  trackingOpenMs: 1_000, // a read that is to be tracked waits so long until changes are heard of
  trackingTableMaxKeys: 1_000_000,
  trackingPrefixesMax: 1_024,

  // held requests (decision 11)
  holdMs: 5_000,
  /** How long a read waits for its leader to say how old a follower's state is. */
  followerAskMs: 3_000,
  /** So much longer a command may take that is being carried out, or waits for one that is: what
   * is committed is applied, however large it is. */
  applyWaitMs: 120_000,
  /** How long the outcome of a write is waited for that may have taken effect and that nobody can
   * tell of; then the client's connection ends. */
  outcomeWaitMs: 60_000,
  /** Groups whose members a node asks at the same time who leads. */
  leaderSearchesMax: 256,
  /** For how long a node of an older build is sent reads in the older form, until it is tried again. */
  plainPeerMs: 60_000,
  holdRequestsMax: 100_000,
  holdBytesMax: 256 * MIB,

  // raft
  raftMessageBytesMax: 1 * MIB,
  raftInflightMessagesMax: 256,
  raftInflightBytesMax: 64 * MIB,
  raftUncommittedBytesMax: 64 * MIB,
  raftCommittedUnappliedBytesMax: 16 * MIB,
  /** One entry's commands: a turn's proposals are split into entries of at most this; a single command,
   * or what takes effect as a whole, may be larger, and beyond the hard bound it is refused. */
  entryBytesMax: 4 * MIB,
  entryBytesHardMax: 64 * MIB,

  // what waits in a partition, and sessions
  /** Connections whose WATCH a partition remembers; beyond, the oldest one's EXEC answers nil. */
  watchesPerPartitionMax: 10_000,
  /** Keys of one watch, and bytes it takes in memory; with more its EXEC answers an error. */
  watchKeysMax: 16_384,
  watchBytesMax: 8 * MIB,
  /** Of all watches of a partition; beyond, the oldest ones' EXECs answer nil. */
  watchBytesPerPartitionMax: 32 * MIB,
  proposalsPerPartitionMax: 65_536,
  /** Replies of entries of other leaders that a replica remembers in memory, for a proposer that lost
   * its own replica: so many bytes of each term, and of all, near enough. */
  recentTermBytesMax: 256 * KIB,
  recentRepliesBytesMax: 768 * KIB,
  /** Terms of which a replica remembers which entries it applied, as first and last index. */
  recentStretchesMax: 1_024,
  /** Batches of several connections that are forwarded as one have so many commands and bytes. */
  joinedLinesMax: { read: 64, write: 256 },
  joinedBytesMax: 64 * KIB,
  /** Clients that wait for an element of a partition. */
  waitersPerPartitionMax: 65_536,
  /** What their requests take in memory, near enough: beyond, nobody else waits until there is room. */
  waiterBytesPerPartitionMax: 128 * MIB,
  /** Of those, what one entry carries, by count and bytes: the others are served by the next. */
  waitersPerEntryMax: 4_096,
  waiterBytesPerEntryMax: 1 * MIB,
  /** Elements that an entry's scripts may give at once of one key, and those who wait for keys they do not name. */
  scriptFillsMax: 64,
  scriptWaitersMax: 64,
  scriptWaiterBytesMax: 16 * KIB,
  /** Scripts of one entry that came in several requests: nobody knows how long they take, or what they put. */
  scriptsPerEntryMax: 32,
  /** What scripts of one engine batch publish: beyond, messages are lost and counted. */
  scriptMessagesBytesMax: 32 * MIB,
  /** Replies kept until they are confirmed, the newest ones; and confirmations in one entry. */
  servedRepliesMax: 131_072,
  /** One of them, and all of a partition: of what is larger or older only a mark is kept. */
  servedReplyBytesMax: 64 * KIB,
  servedRepliesBytesMax: 32 * MIB,
  confirmationsPerEntryMax: 4_096,
  /** Sessions of a partition: how many, how long one lives unused (by the log's time), how near that is. */
  sessionsMax: 16_384,
  sessionIdleMs: 3_600_000,
  sessionUseNotedMs: 300_000,
  /** Replies of a session that may be unconfirmed, and of all sessions of a partition: beyond, new
   * commands are refused. */
  sessionKeptMax: 16_384,
  sessionsKeptMax: 1_048_576,
  /** Bytes of one of them, of those of a forwarded batch, and of all of a partition: of a larger
   * one, or beyond, only a mark is kept. */
  sessionReplyBytesMax: 64 * KIB,
  sessionBatchBytesMax: 256 * KIB,
  sessionsBytesMax: 64 * MIB,
  /** What one use of a session removes at most: of its own old replies, and of ended sessions. */
  sessionSweepMax: 64,

  // replicas of a node
  /** Replicas that a node opens at the same time. */
  replicasOpenedAtOnceMax: 8,
  /** Groups led by one node whose membership changes at the same time. */
  membershipChangesPerNodeMax: 4,
  /** Groups whose leadership a node hands to another at the same time. */
  leaderTransfersPerNodeMax: 16,

  // raft log
  logSegmentBytes: 64 * MIB,
  logBatchBytesMax: 128 * MIB,
  /** A write that its disk has not answered by then counts as failed (`write-watch.ts`). */
  logStallMs: 20_000,
  /** Entries of all groups kept in memory, for what is applied next and followers that lag a little. */
  logCacheBytes: 8 * MIB,
  /** A segment is filled with zeros this far ahead of its writer, a chunk at a time. */
  logZerosAheadBytes: 8 * MIB,
  logZerosChunkBytes: 256 * KIB,
  /** Cold entries copied forward in one batch, and index slots looked at for them in one step. */
  logCopyBytesMax: 4 * MIB,
  logCopySlotsMax: 16_384,
  /** Segments that may exist whatever is alive in them; beyond, at most half may be dead. */
  logSegmentsFree: 4,
  /** One read of consecutive entries, and of a segment on opening. */
  logReadBytes: 1 * MIB,
  /** The log is idle, and gets its mark, this long after its last batch. */
  logIdleMs: 20,
  /** What nobody waits for is written with the next batch, or after so long. */
  logLaterMs: 5,
  /** Writes that have gathered wait so long at most for those under way (`partition/proposing/cohort.ts`). */
  cohortWait: { leastMs: 4, mostMs: 20 },
  /** Appends to followers that nobody waits for leave together after so long. */
  lateAppendMs: 5,
  /** Compaction: entries kept behind the synced applied index for slow followers. */
  logKeepEntries: 4_096,
  logKeepBytes: 16 * MIB,
  /** Kept for followers that are being sent it, or a snapshot. */
  logHeldBytes: 256 * MIB,
  /** Namespaces with leases: the same on all nodes of all clusters, whatever their ticks are. */
  leasePromiseMs: 1_000,
  leaseClockJumpMs: 10,

  // transport
  frameBytesMax: 128 * MIB,
  /** Messages, entries and ids of one raft frame: small on the wire, they are large in memory. */
  frameItemsMax: 1_048_576,
  frameSmallBytesMax: 64 * KIB,
  /** Connections that end in a row without any of a group's large appends having arrived; how long its
   * leader is silent towards that peer then, longer than elections take, and takes no lead from it. */
  largeLossesMax: 3,
  largeLossSilenceMs: 10_000,
  largeLossDistrustMs: 300_000,
  /** Connections to the transport's port that have not said which peer they are, or were refused. */
  transportStrangersMax: 64,
  peerQueueBytesMax: 64 * MIB,
  peerRequestsMax: 65_536,
  /** Unanswered requests beside a peer's raft messages; more of them go in bulk. */
  peerSmallRequestBytesMax: 4 * MIB,
  /** Answers that a peer has not taken: beyond, reads of its clients wait. */
  peerAnswersPauseBytes: 16 * MIB,
  /** Messages published for one peer that it has not taken: beyond, they are lost and counted. */
  peerPostBytesMax: 32 * MIB,
  snapshotChunkBytes: 256 * KIB,
  snapshotSendsPerNodeMax: 2,
  snapshotReceivesPerNodeMax: 2,
  snapshotBytesPerSecond: 100 * MIB,
  /** A snapshot whose stream broke is kept this long, to go on where it was. */
  snapshotResumeMs: 30_000,
  /** Backups of partitions that a node has open (`partition/host/backups.ts`), and how long without a question. */
  backups: { openMax: 16, idleMs: 60_000 },

  // engine
  engineSyncIntervalMs: 250,
  /** Stored tables are read through once in a while to find damage nobody reads. */
  scrubPauseMs: 3_600_000,
  scrubBytesPerSecond: 8 * MIB,
  /** Writes of one engine that wait for the one in flight. */
  engineWritesWaitingMax: 65_536,
  /** Waiting writes are joined into one batch up to this; a larger one goes alone. */
  engineBatchBytesMax: 1 * MIB,
  /** A batch of more operations is never joined with others, and handed over in several turns. */
  engineBatchStep: 1_024,
  /** A batch of more operations than that and more bytes than this, or of so many operations, is
   * written in parts, after redo records; bytes of both. */
  engineWholeBytesMax: 4 * MIB,
  engineWholeOperationsMax: 16_384,
  /** What is remembered of keys that are written, for states of an engine; beyond, the oldest are lost. */
  engineStateBytesMax: 32 * MIB,
  enginePartBytes: 256 * KIB,
  engineRedoBytes: 32 * KIB,
  /** Written behind (`engine/write-behind.ts`): batches of at most so many operations and bytes, so long;
   * how much of them, of one engine, makes it time. As much again waits at most, and a batch more. */
  engineBehindBatchOperationsMax: 512,
  engineBehindBatchBytesMax: 64 * KIB,
  engineBehindMs: 10,
  engineBehindOperations: 1_024,
  engineBehindBytes: 256 * KIB,

  // reads of ranges, and what is kept of what was read
  scanCountMax: 10_000,
  /** One slice of a range that a command reads (decision 7a). */
  rangeSlicePairs: 128,
  rangeSliceBytes: 1 * MIB,
  /** What was read lately of collections and is kept (`partition/remembering/hot-ranges.ts`): of all engines of a
   * node, and of one collection. A batch that changes more keys makes all of its engine forgotten. */
  hotRangesBytes: 16 * MIB,
  hotRangeBytes: 128 * KIB,
  hotRangePairs: 256,
  hotChangesMax: 1_024,
  /** Filters of the keys that are there (`partition/remembering/known-keys.ts`): of all engines of a node; records
   * put by one batch, beyond which an engine's filter is dropped; reads that found nothing before one
   * is made of what an engine holds, and how many times more they are after each that was dropped. */
  keyFiltersBytes: 32 * MIB,
  keyFilterChangesMax: 8_192,
  keyFilterMisses: 50_000,
  keyFilterMissesGrowth: 4,
  /** The same of members of hashes, sets and sorted sets: memory of all of a node. */
  memberFiltersBytes: 16 * MIB,
  /** Records that need not be read to be replaced (`partition/remembering/known-records.ts`): of a node, at most. */
  knownRecordsBytes: 96 * MIB,
  /** Values read lately (`partition/remembering/hot-values.ts`): of a node, a power of two and an eighth; of one. */
  hotValuesBytes: 32 * MIB,
  hotValueBytes: 4 * KIB,
  /** Of sessions (`partition/remembering/known-sessions.ts`): of one engine. */
  knownSessionRecordsMax: 32,
  knownSessionBytesMax: 512,
  /** Nodes of counted trees that are kept between batches (`encoding/ranks/rank-trees.ts`), some 12 KiB
   * each: of a replica, as many as two sets of a half million members have; of all of a node. */
  rankNodesOfReplica: 64,
  rankNodesOfAll: 1_024,
  /** Pairs of it that a command is given at once: between them it may give way. */
  rangeHandedPairs: 64,

  // JSON documents
  /** Of one document, arrays, objects and what is in them; each takes up to 200 bytes while it is worked on. */
  jsonValuesMax: 262_144,
  jsonPathBytesMax: 16 * KIB,
  jsonPathStepsMax: 256,
  jsonPathsMax: 1_024,
  /** Of one JSON.MSET. */
  jsonDocumentsMax: 16_384,
  /** Values that the paths of a command pass in a document, and each path of a filter for one value. */
  jsonWalkMax: 1_048_576,
  jsonFilterWalkMax: 8_192,
  /** All of a filter for one value, with what it compares. */
  jsonFilterMax: 65_536,

  // turns of the event loop
  /** The longest delay of a timer (24.8 days): Node.js fires a longer one at once. */
  timerMsMax: 2_147_483_647,
  /** What one connection brought is looked at so long in one turn. */
  turnMs: 2,
  /** Work on commands in one turn, and small steps of it (of some 64 items): what engine and sockets
   * bring comes beside it, and the longest turns are to be below 4 ms. */
  workMs: 1.5,
  turnStepsMax: 32,
  /** Of one command: to look at more of them, and to run with more, are turns of their own. */
  argumentsAtOnceMax: 2_048,
  /** Transient table of LCS. */
  lcsBytesMax: 64 * MIB,

  // what operators look at
  /** Arguments of a command, and bytes of each, that SLOWLOG and MONITOR show. */
  shownArgumentsMax: 32,
  shownArgumentBytesMax: 128,
  /** Bound of the setting `slowlog-max-len`. */
  slowLogEntriesMax: 10_000,
  latencySamplesMax: 160, // of one kind
  /** Clients of a node that may MONITOR, and what may wait for one of them before it is closed. */
  monitorsMax: 8,
  monitorQueueBytesMax: 8 * MIB,
  /** Commands of one transaction that a monitor is shown; of the others it hears how many they are. */
  monitorExecLinesMax: 512,
  /** Partitions told one by one in INFO and /metrics, and namespaces in the latter. */
  infoPartitionsMax: 1_024,

  /** Lines of a process's own log that cannot be written: kept until there is room, or lost beyond. */
  logLinesKeptBytesMax: 1 * MIB,

  // users
  aclUsersMax: 1_000,
  /** Characters of a user's name, of its rules as they are stored, and of a client's line in the log. */
  aclNameMax: 128,
  aclRulesMax: 64 * KIB,
  aclLogClientMax: 1_024,
  /** Bound of the setting `acllog-max-len`; an entry takes less than 2 KiB. */
  aclLogEntriesMax: 1_024,

  ...controlLimits,
  ...scriptLimits,
  ...sdkLimits,
  ...tlsLimits,
} as const;

assertAgreement(limits);
