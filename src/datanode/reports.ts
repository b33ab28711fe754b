/** What a datanode writes about itself and its leaders into the metadata store. */
import type { NodeId } from '../common/ids.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { type LeaderRecord, type NodeRecord, SCHEMA_VERSION } from '../meta/schema.ts';
import type { DatanodeConfig } from './config.ts';
import type { Identity } from './coordinator/identity.ts';
import { APPLY_VERSION } from './partition/entries/envelope.ts';
import type { LeaderNews } from './partition/host/host-options.ts';

/** The ports that a datanode has bound. */
export interface DatanodePorts {
  readonly gateway: number;
  readonly cluster: number;
  readonly follower: number;
  readonly transport: number;
  /** For ZanRedisDB's clients, where the configuration asks for it. */
  readonly zan?: number;
}

/** `bootId`: new at every start of the process. */
export function nodeRecord(
  { host, announce, ports, tags, capacity, tls }: DatanodeConfig,
  { node, incarnation }: Identity,
  { gateway, cluster, follower, transport, zan }: DatanodePorts,
  bootId: string,
): NodeRecord {
  return {
    version: SCHEMA_VERSION,
    node,
    incarnation,
    bootId,
    host,
    gatewayPort: gateway,
    clusterPort: cluster,
    followerPort: follower,
    transportPort: transport,
    ...(zan !== undefined && { zanPort: zan }),
    httpPort: ports.http,
    ...(tls.http !== 'off' && { httpTls: tls.http }),
    ...announced(announce),
    tags,
    ...(capacity !== undefined && { capacity }),
    build: KVORUM_VERSION,
    applyVersion: APPLY_VERSION,
  };
}

/** Only what is set: the rest is as the record says. */
function announced(announce: DatanodeConfig['announce']): Pick<NodeRecord, 'announce'> {
  const { host, port } = announce;
  const gatewayPort = announce['gateway-port'];
  const followerPort = announce['follower-port'];
  const told = {
    ...(host !== undefined && { host }),
    ...(gatewayPort !== undefined && { gatewayPort }),
    ...(port !== undefined && { clusterPort: port }),
    ...(followerPort !== undefined && { followerPort }),
  };
  return Object.keys(told).length === 0 ? {} : { announce: told };
}

export function leaderRecord(node: NodeId, news: LeaderNews): LeaderRecord {
  const { record, replica, term, membership, catchingUp } = news;
  const { namespace, partition, group } = record;
  return {
    version: SCHEMA_VERSION,
    namespace,
    partition,
    group,
    node,
    replica,
    term,
    membership,
    ...(catchingUp.length > 0 && { catchingUp }),
  };
}
