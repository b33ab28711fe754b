/** What may be set of a transport; the rest of its bounds are in common/limits.ts. */
import { limits } from '../../common/limits.ts';

export interface TransportSettings {
  readonly connectTimeoutMs: number;
  /** From the first byte to the end of the handshake. */
  readonly handshakeTimeoutMs: number;
  /** Each side of each connection sends a keepalive this often. */
  readonly keepaliveMs: number;
  /** A connection that has brought nothing for this long is closed (in whole keepalives). */
  readonly silenceMs: number;
  /**
   * One that is not read, since too much is written that the other side has not taken, is closed when it
   * has taken nothing for this long. The system tells of a large write when all of it is taken, so this
   * is time enough for the most that may wait, at 100 Mbit/s.
   */
  readonly untakenMs: number;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** Unsent raft messages, and unsent requests, of one connection. Of requests that have no answer half
   * as much is sent, and a peer that has to answer more than this reads no more. */
  readonly queueBytesMax: number;
  /** Of one connection, without an answer, but for what who answers parks. */
  readonly requestsMax: number;
  /** Unanswered requests of a small connection, below `queueBytesMax`: more of them go in bulk. */
  readonly smallRequestBytesMax: number;
  /** Unsent bodies of the pub/sub channel, of one peer. */
  readonly postBytesMax: number;
  readonly snapshotBytesPerSecond: number;
  readonly snapshotSendsMax: number;
  readonly snapshotReceivesMax: number;
}

export const defaultTransportSettings: TransportSettings = {
  connectTimeoutMs: 1_000,
  handshakeTimeoutMs: 1_000,
  keepaliveMs: 500,
  silenceMs: 2_000,
  untakenMs: 30_000,
  backoffMinMs: 50,
  backoffMaxMs: 1_000,
  queueBytesMax: limits.peerQueueBytesMax,
  requestsMax: limits.peerRequestsMax,
  smallRequestBytesMax: limits.peerSmallRequestBytesMax,
  postBytesMax: limits.peerPostBytesMax,
  snapshotBytesPerSecond: limits.snapshotBytesPerSecond,
  snapshotSendsMax: limits.snapshotSendsPerNodeMax,
  snapshotReceivesMax: limits.snapshotReceivesPerNodeMax,
};
