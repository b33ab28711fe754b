/**
 * CLUSTER: how cluster clients learn who leads which slots (redis.io cluster specification). Every
 * datanode shows as a master; one that leads nothing shows without slots.
 */
import { slotOfKey } from '../../../common/hash.ts';
import { array, bulk, error, integer, type Reply } from '../../resp/reply.ts';
import { argument, SYNTAX_ERROR } from '../rows/args.ts';
import { type Command, NO_KEYS, type NodeCommand, node } from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import {
  type ClusterNode,
  type Follower,
  isClusterDoor,
  type NodeContext,
} from '../rows/node-context.ts';
import { clusterFigures } from './cluster-figures.ts';
import { clusterKeyCommands } from './cluster-keys.ts';

type Run = NodeCommand['run'];

/** Redis's bus port: clients that read it only print it. */
const BUS_OFFSET = 10_000;
const DISABLED = error('ERR This instance has cluster support disabled');

/** Some clients take for a master whatever SLOTS names and this does not: followers stand here, too. */
function nodesText(context: NodeContext): string {
  const lines = context
    .clusterNodes()
    .flatMap((each) => [nodeLine(each, context), ...followerLines(each, context)]);
  return lines.map((line) => `${line}\n`).join('');
}

function nodeLine(each: ClusterNode, { nowMs, session }: NodeContext): string {
  const { clusterNodeId: id, host, clusterPort: port, alive } = each;
  const isHere = each.myself && session.door !== 'follower';
  const flags = isHere ? 'myself,master' : alive ? 'master' : 'master,fail?';
  const link = alive ? 'connected' : 'disconnected';
  const slots = each.slots.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  return [id, addressWithBus(host, port), flags, '-', '0', nowMs, '1', link, ...slots].join(' ');
}

/** A follower-read port is a slave of its own node, as INFO and ROLE say there. */
function followerLines(each: ClusterNode, { nowMs, session }: NodeContext): string[] {
  const { clusterNodeId: master, follower } = each;
  if (follower === undefined) return [];
  const { id, host, port } = follower;
  const flags = each.myself && session.door === 'follower' ? 'myself,slave' : 'slave';
  return [[id, addressWithBus(host, port), flags, master, '0', nowMs, '1', 'connected'].join(' ')];
}

function addressWithBus(host: string, port: number): string {
  return `${host}:${port}@${port + BUS_OFFSET}`;
}

function infoText(context: NodeContext): string {
  const fields = {
    ...clusterFigures(context.clusterNodes(), context.slotsLed()),
    total_cluster_links_buffer_limit_exceeded: 0,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('');
}

function address({ id, host, port }: Follower): Reply {
  return array([bulk(host), integer(port), bulk(id), { kind: 'map', pairs: [] }]);
}

/** Followers of slots stand here; SHARDS names a node once, as a master. */
const slots: Run = (_args, { slotRanges }) =>
  array(
    slotRanges().map(({ from, to, leader, followers }) => {
      const { host, clusterPort, clusterNodeId } = leader;
      const nodes = [{ id: clusterNodeId, host, port: clusterPort }, ...followers];
      return array([integer(from), integer(to), ...nodes.map(address)]);
    }),
  );

const shards: Run = (_args, { clusterNodes }) =>
  array(
    clusterNodes().map((each) => ({
      kind: 'map',
      pairs: [
        [bulk('slots'), array(each.slots.flatMap(([from, to]) => [integer(from), integer(to)]))],
        [bulk('nodes'), array([shardNode(each)])],
      ],
    })),
  );

function shardNode(each: ClusterNode): Reply {
  return {
    kind: 'map',
    pairs: [
      [bulk('id'), bulk(each.clusterNodeId)],
      [bulk('port'), integer(each.clusterPort)],
      [bulk('ip'), bulk(each.host)],
      [bulk('endpoint'), bulk(each.host)],
      [bulk('role'), bulk('master')],
      [bulk('replication-offset'), integer(0)],
      [bulk('health'), bulk(each.alive ? 'online' : 'failed')],
    ],
  };
}

function myself({ clusterNodes, session }: NodeContext): Reply {
  const own = clusterNodes().find((each) => each.myself);
  if (own === undefined)
    return error('ERR this node is not registered yet; is a placedriver running?');
  const id = session.door === 'follower' ? own.follower?.id : own.clusterNodeId;
  return bulk(id ?? own.clusterNodeId);
}

/** What `reply` says of the node that is named by its id. */
const ofNode =
  (reply: (node: ClusterNode, context: NodeContext) => Reply): Run =>
  (args, context) => {
    const id = argument(args, 2).toString('latin1');
    const known = context.clusterNodes().find(({ clusterNodeId }) => clusterNodeId === id);
    return known === undefined ? error(`ERR Unknown node ${id}`) : reply(known, context);
  };

const replicas = ofNode((each, context) => array(followerLines(each, context).map(bulk)));

const text = (make: (context: NodeContext) => string): Run => {
  return (_args, context) => ({ kind: 'verbatim', format: 'txt', text: make(context) });
};

/** What Redis Cluster's administrators do by hand is the placedriver's work here. */
const managed: Run = () =>
  error('ERR kvorum places partitions by itself; ask the placedriver over its HTTP API');

const forAdmins = new Set<string>(['replicas', 'slaves', 'count-failure-reports']);

const tellsSlots = new Set<string>(['info', 'nodes', 'slots', 'shards']);
const NO_SLOTS = error(
  'ERR this namespace has no slots: its keys are dealt out to partitions by murmur3; send commands ' +
    'to any node, without a cluster client',
);

function sub(name: string, arity: number, since: string, summary: string, run: Run): NodeCommand {
  const isAdmin = run === managed || forAdmins.has(name);
  return node({
    name: `cluster|${name}`,
    arity,
    flags: isAdmin ? ['admin', 'stale'] : ['loading', 'stale'],
    keys: NO_KEYS,
    categories: [],
    group: 'cluster',
    since,
    summary,
    run: (args, context) => {
      const everywhere = name === 'keyslot' || name === 'help';
      if (!isClusterDoor(context.session) && !everywhere) return DISABLED;
      return tellsSlots.has(name) && !context.hasSlots() ? NO_SLOTS : run(args, context);
    },
  });
}

const MANAGED = [
  ...['addslots', 'addslotsrange', 'bumpepoch', 'delslots', 'delslotsrange', 'failover'],
  ...['flushslots', 'forget', 'meet', 'replicate', 'reset', 'saveconfig', 'set-config-epoch'],
  'setslot',
] as const;

const subcommands: readonly Command[] = [
  sub('info', 2, '3.0.0', 'Returns the state of the cluster.', text(infoText)),
  sub('nodes', 2, '3.0.0', 'Returns the nodes and their slots.', text(nodesText)),
  sub('slots', 2, '3.0.0', 'Returns the slots and who leads them.', slots),
  sub('shards', 2, '7.0.0', 'Returns the nodes with all their slots.', shards),
  sub('myid', 2, '3.0.0', 'Returns the id of this node.', (_args, context) => myself(context)),
  sub('myshardid', 2, '7.2.0', 'Returns the id of this node.', (_args, context) => myself(context)),
  sub('keyslot', 3, '3.0.0', 'Returns the hash slot of a key.', (args) =>
    integer(slotOfKey(argument(args, 2))),
  ),
  ...clusterKeyCommands,
  sub('replicas', 3, '5.0.0', 'Returns the follower-read port of a node.', replicas),
  sub('slaves', 3, '3.0.0', 'Returns the follower-read port of a node.', replicas),
  sub('links', 2, '7.0.0', 'Returns no links of a cluster bus.', () => array([])),
  sub(
    'count-failure-reports',
    3,
    '3.0.0',
    'Returns 0: leases find failures.',
    ofNode(() => integer(0)),
  ),
  ...MANAGED.map((name) => sub(name, -2, '3.0.0', 'Refused: the placedriver does it.', managed)),
  sub('help', 2, '5.0.0', 'Lists the subcommands.', () => helpReply('cluster', subcommands)),
];

/** CLUSTER subcommand [argument ...] */
export const clusterCommands: readonly Command[] = [
  node({
    name: 'cluster',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    categories: ['slow'],
    group: 'cluster',
    since: '3.0.0',
    summary: 'A container for cluster commands.',
    subcommands,
    run: () => error(SYNTAX_ERROR),
  }),
];
