/** Relations between the bounds of `limits.ts`, asserted when it is loaded. */
import { assert } from './assert.ts';
import type { limits as bounds } from './limits.ts';

export function assertAgreement(limits: typeof bounds): void {
  assertReplies(limits);
  assertEntries(limits);
  assertDoors(limits);
  assertNodes(limits);
  assertMetadata(limits);
}

/** Entries, and what goes with them into a log batch, a frame and memory. */
function assertEntries(limits: typeof bounds): void {
  assert(limits.entryBytesMax <= limits.entryBytesHardMax, 'an entry fits its hard bound');
  assert(
    2 * limits.waitersPerPartitionMax <= limits.servedRepliesMax,
    'whoever waits may be served twice over before anything is confirmed',
  );
  assert(
    limits.proposalsPerPartitionMax * limits.rewrittenSmallBytes <= limits.execGrowthBytesMax,
    'small values that one entry rewrites uncounted are no more than a transaction may rewrite',
  );
  assert(limits.requestBytesMax < limits.entryBytesHardMax, 'the largest request fits one entry');
  assert(limits.valueBytesMax < limits.entryBytesHardMax, 'the largest value fits one entry');
  assert(
    limits.entryBytesHardMax < limits.logBatchBytesMax,
    'the largest entry fits one log batch',
  );
  assert(
    limits.logZerosChunkBytes <= limits.logZerosAheadBytes,
    'zeros are written chunk by chunk',
  );
  assert(limits.entryBytesHardMax < limits.frameBytesMax, 'the largest entry fits one frame');
}

/** Who is let in, and how long what is asked for waits. */
function assertDoors(limits: typeof bounds): void {
  assert(
    limits.openFilesOwn + limits.clientsLeast < limits.openFilesMin * 0.8,
    'with the least files there may be, and a fifth of them for tables, some clients are let in',
  );
  assert(
    limits.httpConnectionsMax.datanode + limits.httpRefusedMax + limits.transportStrangersMax <
      limits.openFilesOwn,
    'strangers at the doors for HTTP and peers take none of the files of clients and engines',
  );
  assert(limits.followerAskMs < limits.holdMs, 'a read that fails at a follower can go elsewhere');
  assert(limits.holdMs < limits.outcomeWaitMs, 'an outcome is waited for beyond one election');
  assert(
    limits.sessionUseNotedMs * 4 <= limits.sessionIdleMs,
    'a session in use does not end for being noted late',
  );
  assert(
    16 * limits.clientsMax <= limits.deliveries.waitingMax,
    'of messages for all clients of a node so many wait that each is given several in one write',
  );
}

/** What a node keeps of its engines and sends to its peers. */
function assertNodes(limits: typeof bounds): void {
  assert(
    limits.gatherBytesMax + limits.entryBytesHardMax <= limits.frameBytesMax,
    'what one partition gives to a gathering fits a frame, with a value beyond the bound',
  );
  assert(limits.gatherBytesMax <= limits.gatherNodeBytesMax, 'one gathering fits the budget');
  assert(
    limits.engineBehindOperations + limits.engineBehindBatchOperationsMax <=
      limits.engineWholeOperationsMax,
    'what is written behind is never written in parts',
  );
  assert(
    (limits.hotValuesBytes & (limits.hotValuesBytes - 1)) === 0 &&
      4 * limits.hotValueBytes <= limits.hotValuesBytes,
    'a value that may be kept takes no more than a quarter of its ring',
  );
  assert(
    limits.peerSmallRequestBytesMax + limits.frameSmallBytesMax < limits.peerQueueBytesMax,
    'requests never keep a peer from reading the raft messages beside them',
  );
  assert(limits.snapshotChunkBytes < limits.frameBytesMax, 'a snapshot chunk fits one frame');
}

function assertMetadata(limits: typeof bounds): void {
  assert(
    limits.metaValueBytesMax + limits.metaKeyBytesMax <= limits.metaTxnBytesMax,
    'the largest metadata value fits a transaction',
  );
  assert(limits.metaTxnBytesMax < limits.metaRequestBytesMax, 'a transaction fits a request');
  assert(limits.metaRequestBytesMax < limits.metaLogBatchBytesMax, 'a request fits a log batch');
}

/** What may wait of replies, of one client and of all. */
function assertReplies(limits: typeof bounds): void {
  assert(
    limits.rangeBatchBytes <= limits.connectionOutputPauseBytes,
    'of ranges that a client does not take no more is made than may wait for it, and a reply',
  );
  assert(
    limits.replyBytesMax <= limits.rangeReads.largeBytes,
    'one read of ranges alone does not have the others rest',
  );
  assert(
    limits.batchReplyBytes + limits.replyBytesMax + limits.valueBytesMax < limits.frameBytesMax,
    'the replies of a batch fit a frame',
  );
  assert(
    limits.connectionOutputReadsBytes + 2 * (limits.replyBytesMax + limits.valueBytesMax) <
      limits.connectionOutputBytesMax,
    'a client whose reads are dropped and made again is not closed: the last that had room, and the next',
  );
  assert(
    limits.connectionLongWritesBytes + 2 * (limits.replyBytesMax + limits.valueBytesMax) <
      limits.connectionOutputBytesMax,
    'a client that takes what its writes give back is not closed: the only one under way, and the next',
  );
  assert(
    2 * limits.connectionOutputBytesMax <= limits.clientsReplyBytesMax,
    'one client alone does not have others closed',
  );
  assert(
    limits.connectionOutputBytesMax <= limits.clientsBytesMin,
    'also on a small machine a client may have as much as one alone ever has',
  );
  assert(
    2 * limits.replyBytesMax <= limits.execReplyBytesMax,
    'a transaction has room for one read more',
  );
}
