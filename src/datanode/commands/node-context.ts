/** What a node command (PING, INFO, CLIENT, CLUSTER …) may ask of the server it runs in. */
import type { Namespace, NodeId, Slot } from '../../common/ids.ts';
import type { Protocol } from '../resp/reply.ts';

export type Door = 'gateway' | 'cluster';

/** The client's connection. */
export interface Session {
  readonly id: number;
  readonly door: Door;
  /** `host:port` of both ends. */
  readonly remote: string;
  readonly local: string;
  readonly connectedMs: number;
  protocol: Protocol;
  namespace: Namespace;
  clientName: string;
  libraryName: string;
  libraryVersion: string;
  readOnly: boolean;
  replyMode: 'on' | 'off' | 'skip';
  noEvict: boolean;
  noTouch: boolean;
  /** Last command's name, for CLIENT LIST. */
  lastCommand: string;
  lastCommandMs: number;
  /** Closes the connection once the replies before it are written. */
  closeAfterReply(): void;
  /** Closes the connection now (CLIENT KILL). */
  kill(): void;
}

/** One datanode as a client sees it. */
export interface ClusterNode {
  readonly node: NodeId;
  /** 40 hex digits, derived from name and incarnation. */
  readonly clusterNodeId: string;
  readonly host: string;
  readonly clusterPort: number;
  readonly gatewayPort: number;
  readonly alive: boolean;
  readonly myself: boolean;
  /** Slot ranges this node leads (last known), ascending; together the nodes cover every slot. */
  readonly slots: readonly (readonly [Slot, Slot])[];
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
}

export interface ServerInfo {
  readonly node: NodeId;
  readonly version: string;
  readonly runId: string;
  readonly processId: number;
  readonly startedMs: number;
  readonly configFile: string;
  readonly clientsMax: number;
  readonly connectedClients: number;
  readonly blockedClients: number;
  readonly totalConnections: number;
  readonly totalCommands: number;
  readonly rejectedConnections: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly usedMemoryBytes: number;
  readonly rssBytes: number;
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
  /** True until this node has its table and its replicas are open. */
  readonly loading: boolean;
  readonly partitions: readonly PartitionInfo[];
  /** Per command name: calls and microseconds. */
  readonly commandStats: ReadonlyMap<string, { calls: number; microseconds: number }>;
}

export interface NodeContext {
  readonly session: Session;
  readonly nowMs: number;
  info(): ServerInfo;
  sessions(): readonly Session[];
  /** The nodes of the session's namespace, sorted by name. */
  clusterNodes(): readonly ClusterNode[];
  /** False while some slot has never had a leader. */
  clusterOk(): boolean;
  hasNamespace(namespace: Namespace): boolean;
  /** Keys and keys with a deadline per namespace, over the partitions this node leads. */
  keyCounts(): Promise<ReadonlyMap<Namespace, { keys: number; expires: number }>>;
  /** Settings shown and set by CONFIG; a refusal is an error text. */
  settings(): ReadonlyMap<string, string>;
  setSetting(name: string, value: string): string | undefined;
  /** CONFIG RESETSTAT */
  resetStatistics(): void;
  /** Resolves after `delayMs` (DEBUG SLEEP, …). */
  sleep(delayMs: number): Promise<void>;
}
