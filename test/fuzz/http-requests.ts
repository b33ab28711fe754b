/** Valid requests to every route of the placedriver's API and of a datanode's HTTP door. */
export interface HttpRequest {
  readonly door: 'placedriver' | 'datanode';
  readonly method: string;
  readonly url: string;
  readonly type?: string;
  /** As it is sent. */
  readonly body?: string;
}

const at = '/v1/namespaces/default/partitions/1';
const night = { from: '22:00', to: '06:30' };
const spec = { name: 'made', partitions: 8, replicas: 3, tags: ['ssd', 'rack=7'], reads: 'lease' };
const create =
  '/cluster/namespace/create?namespace=made&partition_num=8&replicator=3&engtype=rockredis' +
  '&data_version=default&expiration_policy=consistent&tags=ssd,rack=7&optimizedfsync=true' +
  '&hash=murmur3&reads=lease';

const reads = [
  ...['/ping', '/info', '/listpd', '/datanodes', '/namespaces', '/cluster/stats', '/query/default'],
  ...['/query/default?epoch=3&disable_cache=true', '/v1/cluster', '/v1/nodes', '/v1/nodes/n1'],
  ...['/v1/namespaces', '/v1/namespaces/default', '/v1/namespaces/default/partitions', at],
  ...['/v1/operations', '/v1/moves/planned', '/v1/events?since=3', '/v1/openapi.json'],
  ...['/livez', '/readyz', '/metrics'],
];

const writes: readonly (readonly [method: string, url: string, body?: unknown])[] = [
  ['POST', create],
  ['DELETE', '/cluster/namespace/delete?namespace=default&partition=**'],
  [
    'POST',
    '/cluster/namespace/meta/update?namespace=default&replicator=5&tags=ssd&optimizefsync=false&reads=lease',
  ],
  ['POST', '/cluster/node/remove?remove_node=n1'],
  ['DELETE', '/cluster/partition/remove_node?namespace=default&partition=1&node=n1'],
  ['POST', '/cluster/pd/tombstone?node=pd1&restore=true'],
  ['POST', '/cluster/balance?enable=false'],
  ['POST', '/cluster/upgrade/begin'],
  ['POST', '/cluster/upgrade/done'],
  ['POST', '/stable/nodenum?number=3'],
  ['POST', '/loglevel/set?loglevel=2'],
  ['POST', '/v1/namespaces', spec],
  ['PATCH', '/v1/namespaces/default', { replicas: 2, tags: [], reads: 'linearizable' }],
  ['DELETE', '/v1/namespaces/default'],
  ['POST', `${at}/move`, { from: 'n1', to: 'n2' }],
  ['POST', `${at}/transfer-leader`, { to: 'n2' }],
  ['POST', `${at}/rebuild`, { survivor: 'n1', confirmation: 'lose-data-of default/1' }],
  ['POST', '/v1/nodes/n1/drain'],
  ['DELETE', '/v1/nodes/n1/drain'],
  ['PUT', '/v1/control/balance', { enabled: true, window: night }],
  ['PUT', '/v1/control/balance', { window: null }],
  ['PUT', '/v1/control/upgrade', { on: true }],
  ['PUT', '/v1/control/stable-nodes', { count: 2 }],
];

const ofDatanode = [
  ...['/ping', '/status', '/info', '/livez', '/readyz', '/metrics', '/node/allready'],
  ...['leader', 'members', 'israftsynced'].map((what) => `/cluster/${what}/default-3`),
  ...['/raft/stats?namespace=default&leader_only=true', '/stats?leader_only=false'],
];

export const httpRequests: readonly HttpRequest[] = [
  ...reads.map((url) => ({ door: 'placedriver', method: 'GET', url }) as const),
  ...writes.map(([method, url, body]): HttpRequest => {
    if (body === undefined) return { door: 'placedriver', method, url };
    const text = JSON.stringify(body);
    return { door: 'placedriver', method, url, type: 'application/json', body: text };
  }),
  ...ofDatanode.map((url) => ({ door: 'datanode', method: 'GET', url }) as const),
];
