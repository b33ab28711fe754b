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

function nodesText({ clusterNodes, nowMs }: NodeContext): string {
  return clusterNodes()
    .map((each) => {
      const flags = each.myself ? 'myself,master' : each.alive ? 'master' : 'master,fail?';
      const link = each.alive ? 'connected' : 'disconnected';
      const slots = each.slots.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
      const bus = each.clusterPort + BUS_OFFSET;
      const fields = [
        each.clusterNodeId,
        `${each.host}:${each.clusterPort}@${bus}`,
        flags,
        '-',
        '0',
        String(nowMs),
        '1',
        link,
        ...slots,
      ];
      return `${fields.join(' ')}\n`;
    })
    .join('');
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

/** Followers stand here only: NODES and SHARDS name a node once, as a master. */
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

function myself({ clusterNodes }: NodeContext): Reply {
  const own = clusterNodes().find((each) => each.myself);
  return own === undefined
    ? error('ERR this node is not registered yet; is a placedriver running?')
    : bulk(own.clusterNodeId);
}

/** The same of every node that there is, named by its id. */
const ofNode =
  (reply: Reply): Run =>
  (args, { clusterNodes }) => {
    const id = argument(args, 2).toString('latin1');
    const known = clusterNodes().some(({ clusterNodeId }) => clusterNodeId === id);
    return known ? reply : error(`ERR Unknown node ${id}`);
  };

const replicas = ofNode(array([]));

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
  sub('replicas', 3, '5.0.0', 'Returns no replicas: raft has them.', replicas),
  sub('slaves', 3, '3.0.0', 'Returns no replicas: raft has them.', replicas),
  sub('links', 2, '7.0.0', 'Returns no links of a cluster bus.', () => array([])),
  sub('count-failure-reports', 3, '3.0.0', 'Returns 0: leases find failures.', ofNode(integer(0))),
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
