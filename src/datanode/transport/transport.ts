/**
 * Frames between datanodes. One frame per peer and turn carries the raft messages of all groups, and
 * requests of few bytes leave behind it, while few have no answer; others and snapshot streams travel on
 * the bulk connection.
 * Implemented by `tcp-transport.ts` (over the Network interface).
 */

import type { GroupId, Incarnation, NodeId } from '../../common/ids.ts';
import type { Gone } from '../../common/lazy-abort.ts';
import type { Address } from '../../common/network.ts';
import type { Room } from '../../common/room.ts';
import type { WireMessage } from '../raft/message.ts';

export interface PeerAddress extends Address {
  readonly incarnation: Incarnation;
}

/** Who sent a request: its signal aborts when the peer cancels, or its connection ends. */
export interface Asker extends Gone {
  /**
   * The request may wait for ever. What is kept of it is bounded by who keeps it, and counts no more
   * among the bytes beyond which nothing is read of the peer, nor among the requests it may have.
   */
  park(): void;
}

export interface TransportHandlers {
  /** Raft messages of one frame, in order. */
  onMessages(from: NodeId, messages: readonly GroupMessage[]): void;
  /**
   * A peer's request; the answer may come in any order. `room`: whether the peer takes what it is
   * answered.
   */
  onRequest(from: NodeId, body: Buffer, asker: Asker, room: Room): Promise<Buffer>;
  /** A snapshot stream opened by a peer; resolves when it is taken in as a whole. */
  onStream(from: NodeId, header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void>;
  /**
   * A peer became reachable or unreachable (connection closed, or silent too long). `bootId`, given
   * when reachable, tells a restarted peer from one whose connection broke.
   */
  onPeer(node: NodeId, reachable: boolean, bootId?: string): void;
  /** Takes part in the channel of pub/sub; a node without it drops what comes. */
  readonly pubsub?: PubSubHandlers;
}

/** A link that brings posts. */
export interface PostLink {
  /** Nothing more is read of it, until `resume`; both may be asked for at any time, also twice. */
  pause(): void;
  resume(): void;
}

/** What goes out and what comes in are links of their own: each ends and begins by itself. */
export interface PubSubHandlers {
  /** What is posted from now on reaches the peer, in order, until `onClosed`. */
  onOpen(to: NodeId): void;
  /** `unsent`: what was posted and never left. */
  onClosed(to: NodeId, unsent: readonly Buffer[]): void;
  /** A body that the peer posted over `link`; throws BAD_FRAME, which closes the link. */
  onPost(from: NodeId, body: Buffer, link: PostLink): void;
  /** The peer's link to us has ended: what it told last holds no more. */
  onLost(from: NodeId): void;
}

export interface GroupMessage {
  readonly group: GroupId;
  readonly message: WireMessage;
}

export interface Transport {
  /** Peers to talk to; connections to others are closed, new ones are made. */
  setPeers(peers: ReadonlyMap<NodeId, PeerAddress>): void;
  /** Queued until the end of the turn; dropped when the peer is away or its queue full. */
  send(to: NodeId, group: GroupId, message: WireMessage): void;
  /**
   * Rejects with PEER_UNREACHABLE when it was never sent, CONNECTION_LOST when it was and no
   * answer came, DEADLINE after `timeoutMs`; aborting `signal` sends a cancel and rejects. `parks`:
   * who answers parks it (`Asker`).
   */
  request(
    to: NodeId,
    body: Buffer,
    timeoutMs: number,
    signal?: AbortSignal,
    parks?: boolean,
  ): Promise<Buffer>;
  /** Sends `chunks` with back-pressure and throttling; resolves when the peer took all of it. */
  stream(to: NodeId, header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void>;
  /**
   * Queues a body of the pub/sub channel, in order, without an answer; false when it was dropped
   * because the peer is away or does not keep up.
   */
  post(to: NodeId, body: Buffer): boolean;
  isReachable(node: NodeId): boolean;
  /** The peer's wall clock now, as its keepalives tell; undefined before the first round. */
  peerWallMs(node: NodeId): number | undefined;
  readonly port: number;
  close(): Promise<void>;
}
