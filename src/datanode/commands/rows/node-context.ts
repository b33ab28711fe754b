/** What a node command (PING, INFO, CLIENT, CLUSTER …) may ask of the server it runs in. */
import type { Namespace, NodeId, Slot } from '../../../common/ids.ts';
import type { LatencyHistogram } from '../../../common/latency-histogram.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import type { SlotsLed } from '../cluster/cluster-figures.ts';
import type { ClientTracking, Tracking, TrackingInfo } from '../connection/tracking-port.ts';
import type { Delivery, PubSub, PubSubInfo, Subscriber } from '../pubsub/pubsub-port.ts';
import type { GroupWitness } from '../server/witness.ts';
import type { AclView } from '../users/acl-view.ts';
import type { BackupPort } from './backup-port.ts';
import type { NodeWatch, SlowLogView } from './node-watch.ts';

/** `follower`: the follower-read port, which cluster clients take for replicas; `zan`: ZanRedisDB's. */
export type Door = 'gateway' | 'cluster' | 'follower' | 'zan';

/** It speaks the protocol of Redis Cluster. */
export function isClusterDoor({ door }: Pick<Session, 'door'>): boolean {
  return door === 'cluster' || door === 'follower';
}

/** What of a connection is under way. */
export interface Queued {
  /** Of requests that are not answered. */
  readonly requestBytes: number;
  /** Of answers that the client has not taken: how many, and their estimated size. */
  readonly replies: number;
  readonly replyBytes: number;
  /** Commands queued since MULTI; -1 outside a transaction. */
  readonly transaction: number;
  /** Keys that it watches, as often as it has named them. */
  readonly watched: number;
}

/** What has come from a client and gone to it, since it connected. */
export interface Traffic {
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** What ends the wait of a blocked client: its time, CLIENT UNBLOCK, its connection's end. */
export type Ending = 'timeout' | 'error' | 'gone';

/** The client's connection. */
export interface Session {
  readonly id: number;
  readonly door: Door;
  /** `host:port` of both ends. */
  readonly remote: string;
  readonly local: string;
  readonly connectedMs: number;
  /** Whom its certificate names, where that says who it is. */
  readonly certificateUser?: string | undefined;
  /** Its subscriptions, and the way to it for their messages. */
  readonly subscriber: Subscriber;
  protocol: Protocol;
  namespace: Namespace;
  /** Whom it has said it is; empty: nobody yet. */
  user: string;
  clientName: string;
  libraryName: string;
  libraryVersion: string;
  readOnly: boolean;
  /** It has asked for maintenance notifications. */
  notified: boolean;
  replyMode: 'on' | 'off' | 'skip';
  /** Set while it is in a blocking command; `end` resolves to whether that ended its wait. */
  blocked: { readonly end: (how: Ending) => Promise<boolean> } | undefined;
  /** CLIENT PAUSE holds it back: CLIENT UNBLOCK does not end that. */
  heldBack: boolean;
  /** What it has said that it wants of SYNC (REPLCONF): a file, or to be a replica. */
  syncs: 'unsaid' | 'file' | 'replication';
  noEvict: boolean;
  noTouch: boolean;
  /** It is told every command of this node's clients. */
  monitors: boolean;
  /** Set while it has asked for them (DEBUG WITNESS). */
  witnesses: GroupWitness[] | undefined;
  /** Set while it tracks what it reads (CLIENT TRACKING). */
  tracking: ClientTracking | undefined;
  /** Last command's name, for CLIENT LIST. */
  lastCommand: string;
  lastCommandMs: number;
  /** How many it has had run, those of transactions included. */
  commandsRun: number;
  /** Closes the connection once the replies before it are written. */
  closeAfterReply(): void;
  /**
   * Closes the connection now (CLIENT KILL): from then on it is no client any more, and subscribes to
   * nothing. `blocked` stays until its wait has ended.
   */
  kill(): void;
  queued(): Queued;
  traffic(): Traffic;
  /** Resolves once the client has taken nearly all that it was sent; rejects when it has gone. */
  taken(): Promise<void>;
  /** Tells it that cached values are none any more, behind all replies that have them. */
  invalidate(delivery: Delivery): void;
  /**
   * Sends what no request asked for, ahead of replies that are still to come; what monitors are
   * shown of this client's own request, behind its reply.
   */
  push(reply: Reply): void;
}

/** One datanode as a client sees it. */
export interface ClusterNode {
  readonly node: NodeId;
  /** 40 hex digits, derived from name and incarnation. */
  readonly clusterNodeId: string;
  /** Where clients are told to go. */
  readonly host: string;
  readonly clusterPort: number;
  readonly gatewayPort: number;
  readonly alive: boolean;
  readonly myself: boolean;
  /** Slot ranges this node leads (last known), ascending; together the nodes cover every slot. */
  readonly slots: readonly (readonly [Slot, Slot])[];
}

/** Slots that one node leads and the same nodes follow. */
export interface SlotRange {
  readonly from: Slot;
  to: Slot;
  readonly leader: ClusterNode;
  /** Those that answer at their follower-read ports. */
  readonly followers: readonly Follower[];
}

export interface Follower {
  /** 40 hex digits; not those of the node as a leader, for clients that know nodes by them. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

export interface PartitionInfo {
  readonly namespace: Namespace;
  readonly partition: number;
  readonly group: number;
  readonly role: string;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly leader: NodeId | undefined;
  /** Entries committed but not applied here. */
  readonly lag: number;
  /** Its group is idle; nothing ticks there (decision 19). */
  readonly asleep: boolean;
  readonly reads: 'linearizable' | 'lease';
}

/** One command since the start or CONFIG RESETSTAT; the words are Redis's. */
export interface CommandStat {
  calls: number;
  /** From the requests' arrival to their replies, together. */
  microseconds: number;
  /** Answered with an error before they were calls. */
  rejected: number;
  /** Calls that ended in an error. */
  failed: number;
  readonly latency: LatencyHistogram;
}

/** Over the last two seconds. */
export interface Rates {
  readonly commandsPerSecond: number;
  readonly inputBytesPerSecond: number;
  readonly outputBytesPerSecond: number;
}

/** The largest of any client: requests that are not answered, and answers that it has not taken. */
export interface ClientBuffers {
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** The process, as the operating system sees it now. */
export interface ProcessUsage {
  readonly rssBytes: number;
  /** JavaScript objects and buffers; the engines' caches are in `rssBytes` only. */
  readonly heapBytes: number;
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
}

/** What does not change while the process runs. */
export interface ProcessFacts {
  readonly version: string;
  /** 40 hex digits, drawn at the start. */
  readonly runId: string;
  /** 40 hex digits, the same on every node of the cluster. */
  readonly clusterRunId: string;
  readonly processId: number;
  readonly startedMs: number;
  readonly configFile: string;
  /** As Redis prints it: system, release, machine. */
  readonly os: string;
  readonly systemMemoryBytes: number;
  /** Ticks per second of the replicas. */
  readonly hz: number;
  /** The failure domain of this node; empty when none is configured. */
  readonly zone: string;
}

/** The raft log of the node. */
export interface LogInfo {
  readonly segments: number;
  readonly bytes: number;
  readonly syncs: number;
  readonly batches: number;
  readonly queuedBytes: number;
  readonly writtenBytes: number;
  readonly syncTime: LatencyHistogram;
}

/** What the replicas of the node count together. */
export interface ReplicaMeters {
  readonly lookups: { readonly hits: number; readonly misses: number };
  readonly expiredKeys: number;
  /** Of hashes. */
  readonly expiredFields: number;
  /** Reads of ranges that are under way, and that wait for those; what large ones have in memory. */
  readonly ranges: { readonly underWay: number; readonly waiting: number; readonly bytes: number };
  readonly apply: LatencyHistogram;
  readonly electionsWon: number;
  readonly leaderLosses: number;
  readonly snapshotsSent: number;
  readonly snapshotsReceived: number;
  readonly snapshotsFailed: number;
}

export interface ServerInfo {
  readonly node: NodeId;
  readonly facts: ProcessFacts;
  readonly usage: ProcessUsage;
  /** The most of `usage.heapBytes` seen so far, four times a second. */
  readonly peakHeapBytes: number;
  /** Where the cluster door listens; 0 before it does. */
  readonly clusterPort: number;
  readonly clientsMax: number;
  readonly connectedClients: number;
  /** Over the last two seconds. */
  readonly clientBuffers: ClientBuffers;
  /** Those in a blocking command, and those that have gone and may still be given an element. */
  readonly blockedClients: number;
  /** Of those in a blocking command: how many do not wait for ever, and for how many keys they wait. */
  readonly waits: { readonly timed: number; readonly keys: number; readonly groupKeys: number };
  /** Clients that watch keys, and how many these are: those that several watch count for each. */
  readonly watches: { readonly clients: number; readonly keys: number };
  /** What users were refused, by what the log of refusals calls it. */
  readonly refusals: Readonly<Record<'auth' | 'command' | 'key' | 'channel', number>>;
  readonly evictedClients: number;
  readonly totalConnections: number;
  readonly totalCommands: number;
  readonly rejectedConnections: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Pieces of requests that came, and of replies that went. */
  readonly socketReads: number;
  readonly socketWrites: number;
  readonly errorReplies: number;
  readonly rates: Rates;
  /** By command name, as in the command table. */
  readonly commandStats: ReadonlyMap<string, CommandStat>;
  /** By the error's code. */
  readonly errorStats: ReadonlyMap<string, number>;
  readonly slowLog: Pick<SlowLogView, 'length' | 'newest'>;
  /** Requests that wait for their partition to have a leader: now, and ever. */
  readonly heldNow: number;
  readonly heldTotal: number;
  /** Commands sent on to the node that leads, and carried out for other nodes' clients. */
  readonly forwardedCommands: number;
  readonly servedCommands: number;
  /** Batches of writes that were asked for again of a leader, their outcome not known. */
  readonly repeatedBatches: number;
  /** Entries of this node's own leaders that others were asked about for the same reason. */
  readonly lostEntries: number;
  /** True until this node has its table and its replicas are open. */
  readonly loading: boolean;
  readonly partitions: readonly PartitionInfo[];
  readonly replicas: ReplicaMeters;
  readonly log: LogInfo;
  readonly pubsub: PubSubInfo;
  readonly tracking: TrackingInfo;
}

export interface LibraryCounts {
  readonly libraries: number;
  readonly functions: number;
}

export interface NodeContext {
  readonly session: Session;
  readonly nowMs: number;
  readonly pubsub: PubSub;
  readonly backups: BackupPort;
  readonly tracking: Tracking;
  info(): ServerInfo;
  sessions(): readonly Session[];
  /** The nodes of the session's namespace, sorted by name. */
  clusterNodes(): readonly ClusterNode[];
  /** All slots in order, with who follows. */
  slotRanges(): readonly SlotRange[];
  slotsLed(): SlotsLed;
  /** False in a namespace whose keys are dealt out in another way. */
  hasSlots(): boolean;
  hasNamespace(namespace: Namespace): boolean;
  /** Keys and keys with a deadline per namespace, over the partitions this node leads. */
  keyCounts(): Promise<ReadonlyMap<Namespace, { keys: number; expires: number }>>;
  /** Libraries of the session's namespace, of a partition that is here; undefined: none is. */
  libraryCounts(): Promise<LibraryCounts | undefined>;
  /** Settings of this node by the names that CONFIG uses (server/config-table.ts has them all). */
  settings(): ReadonlyMap<string, string>;
  /** What keeps this node from taking a value that is within the bounds of the table. */
  settingProblem(name: string, value: number): string | undefined;
  /** `value` is within the bounds of the table. */
  setSetting(name: string, value: number): void;
  /** Of every node, by one that the table takes; resolves to what kept it from being stored. */
  setForCluster(name: string, value: string): Promise<string | undefined>;
  readonly watch: NodeWatch;
  readonly acl: AclView;
  /** DEBUG SET-ACTIVE-EXPIRE */
  setActiveExpire(on: boolean): void;
  /** Followers known to hold every write that this connection has been answered. */
  followersInSync(): number;
  /** CONFIG RESETSTAT */
  resetStatistics(): void;
  /** Resolves after `delayMs` (DEBUG SLEEP, …). */
  sleep(delayMs: number): Promise<void>;
}
