/**
 * The metadata records and where they live: the contract between placedriver, datanodes and
 * tools. Values are JSON with a `version`; `records.ts` reads them.
 */
import type { Murmur3Share } from '../common/hash.ts';
import type {
  Epoch,
  GroupId,
  Incarnation,
  LogIndex,
  Namespace,
  NodeId,
  PartitionId,
  ReplicaId,
  Revision,
  Slot,
  Term,
} from '../common/ids.ts';

export const SCHEMA_VERSION = 1;

export interface ClusterRecord {
  readonly version: number;
  /** 16 hex digits, drawn when the cluster is made. */
  readonly clusterId: string;
  readonly createdMs: number;
}

/** A living datanode; under its lease. */
export interface NodeRecord {
  readonly version: number;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  /** New at every start of the process. */
  readonly bootId: string;
  readonly host: string;
  readonly transportPort: number;
  readonly gatewayPort: number;
  readonly clusterPort: number;
  /** Where reads may be answered by followers; absent: told by an older build, which has none. */
  readonly followerPort?: number;
  readonly httpPort: number;
  /** Whether HTTP there may or must be TLS; absent: it is plain. */
  readonly httpTls?: 'optional' | 'required';
  /** Where ZanRedisDB's clients are served; absent: not on this node. */
  readonly zanPort?: number;
  /** Where clients reach it, when that differs from `host` and the ports above. */
  readonly announce?: {
    readonly host?: string;
    readonly gatewayPort?: number;
    readonly clusterPort?: number;
    readonly followerPort?: number;
  };
  readonly tags: Readonly<Record<string, string>>;
  /** Replicas it should hold at most; no bound when absent. */
  readonly capacity?: number;
  /** Version of kvorum that runs there. */
  readonly build?: string;
  /** Up to which apply version it carries out entries of a log; absent: told by an older build. */
  readonly applyVersion?: number;
}

export type ClientAddress = Pick<
  NodeRecord,
  'host' | 'gatewayPort' | 'clusterPort' | 'followerPort'
>;

/** Where clients are told to go; peers use the record's own host and ports. */
export function clientAddress(
  record: Pick<NodeRecord, 'host' | 'gatewayPort' | 'clusterPort' | 'followerPort' | 'announce'>,
): ClientAddress {
  const { host, gatewayPort, clusterPort, followerPort, announce } = record;
  const ports = { gatewayPort, clusterPort, ...(followerPort !== undefined && { followerPort }) };
  return { host, ...ports, ...announce };
}

/** What a datanode carries, told now and then; under its lease. */
export interface LoadRecord {
  readonly version: number;
  readonly node: NodeId;
  readonly replicas: number;
  readonly leaders: number;
  /** Of the partitions it leads. */
  readonly keys: number;
  readonly diskBytes: number;
  readonly memoryBytes: number;
  /** Replicas that stopped after a fault, or could not be opened; absent when there are none. */
  readonly stopped?: readonly ReplicaId[];
}

/** What the master has seen of a datanode; outlives the lease and the master. */
export interface NodeStateRecord {
  readonly version: number;
  readonly node: NodeId;
  readonly firstSeenMs: number;
  /** Since when it is away (the master's wall clock); absent while it lives. */
  readonly lostSinceMs?: number;
  /** An operator has lowered the stable node count since: it is gone, not merely cut off. */
  readonly writtenOff?: boolean;
  /** An operator wants it empty; `replicas`: what it held then. */
  readonly draining?: { readonly sinceMs: number; readonly replicas: number };
}

/** What operators have set for the cluster, and the stable node count. */
export interface ControlRecord {
  readonly version: number;
  /** Grows by itself with the living datanodes; only an operator lowers it. */
  readonly stableNodes: number;
  /** Since when no replica moves because nodes are being upgraded; absent: they may. */
  readonly upgradeSinceMs?: number;
  readonly balance: {
    readonly enabled: boolean;
    /** When replicas may move only to be more even; always when absent. */
    readonly window?: BalanceWindow;
  };
}

/** Minutes of the day, UTC; one that ends before it begins reaches over midnight. */
export interface BalanceWindow {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** A living placedriver; under its lease. */
export interface PlacedriverRecord {
  readonly version: number;
  readonly name: NodeId;
  readonly host: string;
  readonly httpPort: number;
  /** Whether HTTP there may or must be TLS; absent: it is plain. */
  readonly httpTls?: 'optional' | 'required';
  readonly build: string;
}

/** A placedriver that an operator wants not to become master. */
export interface BannedRecord {
  readonly version: number;
  readonly name: NodeId;
  readonly sinceMs: number;
}

/**
 * Groups of a deleted namespace: their replicas are destroyed wherever they turn up. That a group is
 * missing in the table says nothing: only this record does. Where several became one, its namespace is
 * that of the last.
 */
export interface DeletedRecord {
  readonly version: number;
  readonly namespace: Namespace;
  readonly firstGroup: GroupId;
  readonly groups: number;
  readonly deletedMs: number;
}

/** Which incarnation a node name belongs to; outlives the lease. */
export interface IncarnationRecord {
  readonly version: number;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  /** Which of its starts registered last; absent: an older build's, or none yet. */
  readonly life?: number;
}

export interface NamespaceRecord {
  readonly version: number;
  readonly name: Namespace;
  readonly kind: 'redis';
  /** How keys find their partition: by Redis Cluster's slots, or as in ZanRedisDB (no hash tags). */
  readonly hash: 'slots' | 'murmur3';
  readonly partitions: number;
  readonly replicas: number;
  readonly expiry: 'consistent';
  /** Tags a node must have to hold replicas: `name`, or `name=value`; any node when absent. */
  readonly tags?: readonly string[];
  /** How reads are confirmed (decision 8); `linearizable` when absent. */
  readonly reads?: 'linearizable' | 'lease';
  /** Only set once every partition's wanted record is written: the namespace is visible. */
  readonly ready: boolean;
  /** On its way out; `ready` is false again. */
  readonly deleting?: boolean;
}

export interface ReplicaRecord {
  readonly replica: ReplicaId;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
}

/** What was last asked of a partition's replicas; of two nodes, or of one alone. */
export interface MoveRecord {
  /** The replica that goes. */
  readonly from?: ReplicaRecord;
  /** The replica that comes. */
  readonly to?: ReplicaRecord;
  /** It was to come before, and could not be filled. */
  readonly gaveUp?: ReplicaRecord;
  readonly why: string;
  /** The master's wall clock. */
  readonly sinceMs: number;
}

/** The wanted state of one partition, written by the master only. The first replica should lead. */
export interface PartitionRecord {
  readonly version: number;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
  /** In a namespace with that hash, where a partition may have keys of every slot. */
  readonly murmur3?: Murmur3Share;
  /** Immutable within a group: the replicas that may start as voters (decision 18). */
  readonly birth: readonly ReplicaRecord[];
  readonly replicas: readonly ReplicaRecord[];
  /** Under way until the group serves `epoch`; stays afterwards, as what was done last. */
  readonly move?: MoveRecord;
  /** Counts the versions of this record from 1; the group's configuration carries the one served. */
  readonly epoch: Epoch;
  /** Election revision of the master that wrote it (decision 17). */
  readonly fence: Revision;
  /** How the group came from one that had lost its quorum. */
  readonly rebuilt?: Rebuilt;
}

/**
 * The partition's group had lost its quorum and was given up: this one goes on, under a group id
 * never used before, with what the one replica of its birth record holds. Every frame names its
 * group, so the group id is the epoch that keeps replicas of the lost majority out.
 */
export interface Rebuilt {
  /** The first version of the record with this group; its configuration serves this or a later. */
  readonly epoch: Epoch;
  /** Groups given up, the newest last: their replicas serve nothing, and are destroyed. */
  readonly formerGroups: readonly GroupId[];
  /** What the group before had beside the survivor. */
  readonly lost: readonly ReplicaRecord[];
}

/** Who leads a partition, and the members it acts with; compare-and-put, never to a lower term. */
export interface LeaderRecord {
  readonly version: number;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  /** Terms count within a group: a namespace made anew has other groups. */
  readonly group?: GroupId;
  readonly node: NodeId;
  readonly replica: ReplicaId;
  readonly term: Term;
  readonly membership: Membership;
  /** Learners that are being filled, as of a second ago; absent when there are none. */
  readonly catchingUp?: readonly CatchingUp[];
  /** It lost its quorum, and nobody leads in its term any more; the members are as it told last. */
  readonly resigned?: true;
}

/** How far a learner is: what it holds of the log, while a snapshot is on its way nothing. */
export interface CatchingUp {
  readonly replica: ReplicaId;
  readonly match: LogIndex;
  /** The leader's last index. */
  readonly last: LogIndex;
  /** What it has been sent of a snapshot that is on its way, 0 to 1, about. */
  readonly snapshot?: number;
}

/** A group's configuration as its leader has applied it. */
export interface Membership {
  /** Epoch of the wanted record that the last change served. */
  readonly epoch: Epoch;
  /** Both halves while `joint`. */
  readonly voters: readonly ReplicaId[];
  readonly learners: readonly ReplicaId[];
  /** Two halves decide, or a quorum may not know for good yet that they do no more. */
  readonly joint: boolean;
}

/** A replica whose data its node found damaged: it has stopped, and waits to be replaced. */
export interface DamageRecord {
  readonly version: number;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly replica: ReplicaId;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  /** File, offset and what is wrong there. */
  readonly reason: string;
}

/** A user of the Redis doors and its rules, as ACL LIST shows them: passwords are hashed. */
export interface UserRecord {
  readonly version: number;
  readonly user: string;
  readonly rules: string;
}

/** A setting of the whole cluster (CONFIG SET of what is not a node's own). */
export interface SettingRecord {
  readonly version: number;
  readonly name: string;
  readonly value: string;
}

/** Next group and replica ids. */
export interface CountersRecord {
  readonly version: number;
  readonly nextGroup: GroupId;
  readonly nextReplica: ReplicaId;
}

const ROOT = '/kvorum/';

/** Keys sort so that one prefix is one kind. */
export const keys = {
  root: ROOT,
  cluster: `${ROOT}cluster`,
  counters: `${ROOT}counters`,
  election: `${ROOT}election/`,
  nodes: `${ROOT}nodes/`,
  node: (node: NodeId) => `${ROOT}nodes/${node}`,
  loads: `${ROOT}loads/`,
  load: (node: NodeId) => `${ROOT}loads/${node}`,
  nodeStates: `${ROOT}node-states/`,
  nodeState: (node: NodeId) => `${ROOT}node-states/${node}`,
  control: `${ROOT}control`,
  placedrivers: `${ROOT}placedrivers/`,
  placedriver: (name: NodeId) => `${ROOT}placedrivers/${name}`,
  banned: `${ROOT}banned/`,
  ban: (name: NodeId) => `${ROOT}banned/${name}`,
  deleted: `${ROOT}deleted/`,
  deletion: (firstGroup: GroupId) => `${ROOT}deleted/${firstGroup}`,
  incarnations: `${ROOT}incarnations/`,
  incarnation: (node: NodeId) => `${ROOT}incarnations/${node}`,
  namespaces: `${ROOT}namespaces/`,
  namespace: (name: Namespace) => `${ROOT}namespaces/${name}`,
  partitions: `${ROOT}partitions/`,
  partitionsOf: (name: Namespace) => `${ROOT}partitions/${name}/`,
  partition: (name: Namespace, partition: PartitionId) =>
    `${ROOT}partitions/${name}/${String(partition).padStart(5, '0')}`,
  users: `${ROOT}users/`,
  user: (name: string) => `${ROOT}users/${encodeURIComponent(name)}`,
  damages: `${ROOT}damages/`,
  damage: (replica: ReplicaId) => `${ROOT}damages/${replica}`,
  settings: `${ROOT}settings/`,
  setting: (name: string) => `${ROOT}settings/${name}`,
  leaders: `${ROOT}leaders/`,
  leadersOf: (name: Namespace) => `${ROOT}leaders/${name}/`,
  leader: (name: Namespace, partition: PartitionId) =>
    `${ROOT}leaders/${name}/${String(partition).padStart(5, '0')}`,
} as const;

export function encodeRecord(record: { readonly version: number }): string {
  return JSON.stringify(record);
}
