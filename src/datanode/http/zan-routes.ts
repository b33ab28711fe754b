/**
 * ZanRedisDB's routes of a datanode that only look: leaders, members, raft and node statistics. What
 * they would change there (members, forced groups) is the placedriver's to decide here.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ReplicaStatus } from '../status.ts';
import type { NodeStatus } from './server.ts';

/** Undefined until the node has its place in the cluster. */
type Status = () => NodeStatus | undefined;

export const zanRoutes = [
  '/info',
  '/cluster/leader/:nspid',
  '/cluster/members/:nspid',
  '/cluster/israftsynced/:nspid',
  '/node/allready',
  '/raft/stats',
  '/stats',
] as const;

export function addZanRoutes(app: FastifyInstance, version: string, status: Status): void {
  app.get('/info', async () => ({ version }));
  addGroupRoutes(app, status);
  app.get('/node/allready', async (_request, reply) => {
    const now = status();
    if (now?.ready) return { ready: true };
    return refuse(reply, 406, 'this datanode is not ready; GET /readyz says why');
  });
  addStatistics(app, status);
}

function addGroupRoutes(app: FastifyInstance, status: Status): void {
  /** Answers with what `tell` says of this node's replica of the partition. */
  const route = (
    url: string,
    tell: (replica: ReplicaStatus, reply: FastifyReply, name: string) => unknown,
  ) => {
    app.get<{ Params: { nspid: string } }>(`${url}/:nspid`, async ({ params }, reply) => {
      const now = status();
      if (now === undefined) return refuse(reply, 503, 'this datanode is starting; see /readyz');
      const name = parseName(params.nspid);
      if (name === undefined) {
        const wanted = 'nspid must be NAMESPACE-PARTITION, as default-3';
        return refuse(reply, 400, `${wanted}; it is ${params.nspid}`);
      }
      const replica = now.partitions.find(
        (one) => one.namespace === name.namespace && one.partition === name.partition,
      );
      if (replica !== undefined) return tell(replica, reply, params.nspid);
      return refuse(reply, 404, `this datanode holds no replica of ${params.nspid}`);
    });
  };
  route('/cluster/leader', (replica, reply, name) => {
    const leader = replica.members.find(({ node }) => node === replica.leader);
    if (leader !== undefined) return memberOf(replica, leader);
    return refuse(reply, 404, `${name} has no leader that this datanode knows`);
  });
  route('/cluster/members', (replica) =>
    replica.members.map((member) => memberOf(replica, member)),
  );
  route('/cluster/israftsynced', (replica, reply, name) => {
    if (isSynced(replica)) return { synced: true };
    const { role, leader, applied, commit } = replica;
    const state = `${role}, leader ${leader ?? 'unknown'}, applied ${applied} of ${commit}`;
    return refuse(reply, 406, `${name} is not synced here: ${state}`);
  });
}

interface RaftQuery {
  namespace?: string;
  leader_only?: string;
}

function addStatistics(app: FastifyInstance, status: Status): void {
  /** Answers with what `tell` says of the replicas that the query chooses. */
  const route = (url: string, tell: (now: NodeStatus, replicas: ReplicaStatus[]) => unknown) => {
    app.get<{ Querystring: RaftQuery }>(url, async ({ query }, reply) => {
      const now = status();
      if (now === undefined) return refuse(reply, 503, 'this datanode is starting; see /readyz');
      const { namespace, leader_only: only = 'false' } = query;
      if (only === 'true' || only === 'false') {
        return tell(now, chosen(now, namespace, only === 'true'));
      }
      return refuse(reply, 400, `leader_only must be true or false; it is ${only}`);
    });
  };
  route('/raft/stats', (_now, replicas) => replicas.map(raftStatistics));
  route('/stats', ({ version, ready, faults }, replicas) => ({
    version,
    health: ready ? 'OK' : 'NOT READY',
    faults,
    replicas: replicas.length,
    leaders: replicas.filter(({ role }) => role === 'leader').length,
    asleep: replicas.filter(({ asleep }) => asleep).length,
    lag: replicas.reduce((sum, { commit, applied }) => sum + Math.max(0, commit - applied), 0),
  }));
}

function chosen(
  { partitions }: NodeStatus,
  namespace: string | undefined,
  leaderOnly: boolean,
): ReplicaStatus[] {
  return partitions.filter(
    (one) =>
      (namespace === undefined || one.namespace === namespace) &&
      (!leaderOnly || one.role === 'leader'),
  );
}

/** A voter that knows its leader and has applied all that it knows to be committed. */
function isSynced({ role, leader, applied, commit }: ReplicaStatus): boolean {
  return (role === 'leader' || role === 'follower') && leader !== null && applied >= commit;
}

function memberOf(
  { namespace, partition, group }: ReplicaStatus,
  { node, id }: ReplicaStatus['members'][number],
) {
  return { id, node_id: node, group_name: `${namespace}-${partition}`, group_id: group };
}

function raftStatistics(replica: ReplicaStatus) {
  const { namespace, partition, group, role, leader, term, commit, applied, lastIndex } = replica;
  return {
    group_name: `${namespace}-${partition}`,
    group_id: group,
    replica: replica.replica,
    role,
    leader,
    term,
    commit,
    applied,
    last_index: lastIndex,
    asleep: replica.asleep,
    members: replica.members.map((member) => ({
      ...memberOf(replica, member),
      match: member.match,
    })),
  };
}

/** A namespace may have dashes itself: the last one parts. */
function parseName(text: string): { namespace: string; partition: number } | undefined {
  const match = /^(.{1,255})-(\d{1,5})$/.exec(text);
  return match === null ? undefined : { namespace: match[1]!, partition: Number(match[2]) };
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply.code(status).send({ message });
}
