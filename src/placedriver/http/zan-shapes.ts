/** The cluster in the shapes of ZanRedisDB's placedriver, as its clients read them. Pure. */
import type { NodeId } from '../../common/ids.ts';
import {
  clientAddress,
  type NamespaceRecord,
  type NodeRecord,
  type PlacedriverRecord,
} from '../../meta/schema.ts';
import { isSettled } from '../balance/group-states.ts';
import type { Picture } from '../picture.ts';
import type { ClusterView } from '../view/cluster-view.ts';
import { stoppedOf } from '../view/stopped-replicas.ts';

/** A datanode; ports are texts. */
export interface ZanNode {
  readonly node_id: string;
  readonly broadcast_address: string;
  readonly hostname: string;
  readonly redis_port: string;
  /** Ours: its follower-read port; empty when it has none. */
  readonly follower_port: string;
  readonly http_port: string;
  readonly grpc_port: string;
  readonly version: string;
  readonly dc_info: string;
}

/** Stands where there is none. */
const NO_NODE: ZanNode = {
  node_id: '',
  broadcast_address: '',
  hostname: '',
  redis_port: '',
  follower_port: '',
  http_port: '',
  grpc_port: '',
  version: '',
  dc_info: '',
};

function zanNode(record: NodeRecord, redisPort: number | undefined): ZanNode {
  const { node, tags, httpPort, build } = record;
  const { host, followerPort } = clientAddress(record);
  return {
    node_id: node,
    broadcast_address: host,
    hostname: tags['host'] ?? host,
    redis_port: redisPort === undefined ? '' : String(redisPort),
    follower_port: followerPort === undefined ? '' : String(followerPort),
    http_port: String(httpPort),
    grpc_port: '',
    version: build ?? '',
    dc_info: tags['dc_info'] ?? '',
  };
}

/** The port for ZanRedisDB's clients; without one the gateway port, for every other client. */
function anyPort(record: NodeRecord): number {
  return record.zanPort ?? clientAddress(record).gatewayPort;
}

/**
 * The port that a client of the namespace dials. Where keys are dealt out as ZanRedisDB does, its
 * clients come: on another port they would be understood wrongly, so they are told none.
 */
function portFor(hash: NamespaceRecord['hash']): (record: NodeRecord) => number | undefined {
  return hash === 'murmur3' ? ({ zanPort }) => zanPort : anyPort;
}

export function zanNodes(picture: Picture): ZanNode[] {
  return byText(picture.aliveNodes(), ({ node }) => node).map((record) =>
    zanNode(record, anyPort(record)),
  );
}

/** As Go writes the structure: names in upper case, ports as texts. */
function zanPlacedriver(
  { name, host, httpPort, build }: PlacedriverRecord,
  epoch: number,
): Record<string, unknown> {
  return {
    RegID: 0,
    ID: name,
    NodeIP: host,
    Hostname: host,
    RedisPort: '',
    HttpPort: httpPort === 0 ? '' : String(httpPort),
    RpcPort: '',
    RaftTransportAddr: '',
    Version: build,
    Tags: {},
    DataRoot: '',
    RsyncModule: '',
    LearnerRole: '',
    Epoch: epoch,
  };
}

/** Banned ones are left out, as ZanRedisDB leaves out its tombstones. */
export function zanPlacedrivers(view: ClusterView): Record<string, unknown> {
  const { picture, master } = view;
  const banned = new Set(picture.banned().map(({ name }) => name));
  const living = byText(picture.placedrivers(), ({ name }) => name);
  const leader = living.find(({ name }) => name === master?.name);
  const none: PlacedriverRecord = { version: 1, name: '', host: '', httpPort: 0, build: '' };
  return {
    pdnodes: living.filter(({ name }) => !banned.has(name)).map((one) => zanPlacedriver(one, 0)),
    pdleader: zanPlacedriver(leader ?? none, master?.revision ?? 0),
  };
}

export function zanNamespaces(picture: Picture): string[] {
  return byText(picture.namespaces(), ({ name }) => name)
    .filter(({ ready }) => ready)
    .map(({ name }) => name);
}

/** Partition → leader and replicas, of nodes that are alive; undefined for an unknown namespace. */
export function zanNamespace(
  picture: Picture,
  name: string,
  epoch: number,
): Record<string, unknown> | undefined {
  const namespace = picture.namespace(name);
  if (!namespace?.ready) return undefined;
  const portOf = portFor(namespace.hash);
  const alive = new Map(
    picture.aliveNodes().map((record) => [record.node, zanNode(record, portOf(record))]),
  );
  const nodesOf = (nodes: readonly NodeId[]) => nodes.flatMap((node) => alive.get(node) ?? []);
  const partitions: Record<string, unknown> = {};
  for (const record of picture.shownPartitions()) {
    if (record.namespace !== name) continue;
    const leader = picture.leader(record);
    // clients know only nodes that hold replicas, and one that is on its way out may still lead
    const holders = new Set(record.replicas.map(({ node }) => node));
    if (leader !== undefined) holders.add(leader.node);
    partitions[String(record.partition)] = {
      leader: (leader && !leader.resigned && alive.get(leader.node)) || NO_NODE,
      replicas: nodesOf([...holders]),
    };
  }
  return {
    epoch,
    partition_num: namespace.partitions,
    replicator: namespace.replicas,
    expire_policy: 'wait_compact',
    fsync_optimized: false,
    eng_type: 'leveldb',
    hash: namespace.hash,
    partitions,
  };
}

export interface ZanStats {
  /**
   * Every partition is led, has the members it should have, all on living nodes that stay, none of
   * them stopped, and no upgrade is under way: another node may be taken away.
   */
  readonly stable: boolean;
  readonly datanodes: number;
  readonly partitions: number;
  readonly led: number;
  /** Ours: replicas that stopped after a fault, as their nodes told last. */
  readonly stopped: number;
}

export function zanStats(picture: Picture): ZanStats {
  const alive = new Set(picture.aliveNodes().map(({ node }) => node));
  const records = picture.shownPartitions();
  const led = records.filter((record) => picture.leading(record) !== undefined).length;
  const staying = stayingNodes(picture);
  const whole = records.every(
    (record) =>
      isSettled(record, picture.leading(record)) &&
      record.replicas.every(({ node, incarnation }) => staying.get(node) === incarnation),
  );
  const stopped = records.reduce((sum, one) => sum + stoppedOf(picture, one).length, 0);
  const calm = stopped === 0 && !isUpgrading(picture);
  return {
    stable: records.length > 0 && led === records.length && whole && calm,
    datanodes: alive.size,
    partitions: records.length,
    led,
    stopped,
  };
}

function isUpgrading(picture: Picture): boolean {
  return picture.control()?.record.upgradeSinceMs !== undefined;
}

/** Living nodes that nobody empties, and their incarnations. */
function stayingNodes(picture: Picture): ReadonlyMap<NodeId, string> {
  const staying = new Map(picture.aliveNodes().map((one) => [one.node, one.incarnation]));
  for (const { record } of picture.nodeStates()) if (record.draining) staying.delete(record.node);
  return staying;
}

/** In order of code units. */
export function byText<T>(items: readonly T[], textOf: (item: T) => string): T[] {
  return [...items].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}
