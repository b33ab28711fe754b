// Floors, doors and cycles of the house; ARCHITECTURE.md explains them. `npm run floors` checks.

/** Rooms of a datanode and what each may import beside itself and common. */
const rooms = {
  'datanode/raft': [],
  'datanode/engine': [],
  'datanode/resp': [],
  'datanode/encoding': ['datanode/engine'],
  'datanode/raftlog': ['datanode/raft'],
  'datanode/transport': ['datanode/raft'],
  'datanode/lua': [],
  'datanode/commands': [
    'datanode/encoding',
    'datanode/resp',
    'datanode/lua',
    'datanode/engine/engine.ts',
  ],
  'datanode/acl': ['datanode/commands', 'datanode/resp'],
  'datanode/pubsub': [
    'datanode/transport',
    'datanode/resp',
    'datanode/commands/texts/glob.ts',
    'datanode/commands/pubsub/pubsub-port.ts',
    'datanode/commands/pubsub/notify-flags.ts',
    'datanode/encoding/txn/view.ts',
  ],
  'datanode/partition': [
    'datanode/raft',
    'datanode/raftlog',
    'datanode/transport',
    'datanode/commands',
    'datanode/encoding',
    'datanode/engine',
    'datanode/resp',
    'meta/schema.ts',
  ],
  'datanode/routing': [
    'datanode/transport',
    'datanode/partition',
    'datanode/resp',
    'meta/schema.ts',
  ],
  'datanode/tracking': [
    'datanode/resp',
    'datanode/commands',
    'datanode/partition',
    'datanode/routing',
  ],
  'datanode/server': [
    'datanode/acl',
    'datanode/tracking',
    'datanode/resp',
    'datanode/commands',
    'datanode/partition',
    'datanode/routing',
    'datanode/pubsub',
    'meta/schema.ts',
  ],
  'datanode/zan': [
    'datanode/server',
    'datanode/resp',
    'datanode/commands',
    'datanode/partition',
    'datanode/routing',
    'datanode/config.ts',
  ],
  'datanode/coordinator': ['datanode/partition', 'datanode/routing', 'meta'],
  'datanode/http': [
    'datanode/commands/cluster/cluster-figures.ts',
    'datanode/commands/table/table.ts',
    'datanode/commands/rows/node-context.ts',
    'datanode/status.ts',
    'datanode/client-network.ts',
  ],
  placedriver: ['meta'],
  sdk: ['meta/schema.ts'],
  testing: ['sdk', 'cli'],
  meta: [],
  common: [],
};

/** npm packages and the only places that import each. */
const doors = {
  'redis-parser': 'src/datanode/resp/',
  'hash-wasm': 'src/datanode/encoding/strings/digest.ts',
  'classic-level': 'src/datanode/engine/leveldb.ts',
  etcd3: 'src/meta/etcd',
  '@grpc/': 'src/meta/(etcd|embedded)',
  ioredis: 'src/sdk/ioredis-connection.ts',
  fastify: '/http/',
  '@fastify/': 'src/placedriver/http/openapi.ts',
  ajv: 'src/placedriver/http/validation.ts',
  'prom-client': 'src/common/http/metrics-page.ts',
  asn1js: 'src/cli/certificates/',
  commander: 'src/cli/',
  pino: 'src/cli/',
  yaml: 'src/common/config|src/cli/|/config',
  zod: 'src/common/config|src/cli/|/config|src/meta/records',
};

const escape = (text) => text.replace(/[.]/g, '\\.');

const floorRules = Object.entries(rooms).map(([room, allowed]) => ({
  name: `floor-${room.replace('/', '-')}`,
  comment: `${room} may import only: ${['itself', 'common', ...allowed].join(', ')}`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: '/main\\.ts$' },
  to: {
    path: '^src/',
    pathNot: [room, 'common', ...allowed].map((place) =>
      place.endsWith('.ts') ? `^src/${escape(place)}$` : `^src/${place}/`,
    ),
  },
}));

/**
 * Folders of the largest rooms by floors, the lowest first. Code comes from folders below alone; a type
 * may be of any folder of the room, since a replica and its parts tell each other what they need, and
 * what is stored says what it is read through.
 */
const folders = {
  'datanode/lua': [['values'], ['syntax', 'library'], ['machine']],
  'datanode/partition': [
    ['entries', 'turns', 'remembering', 'upkeep', 'sleeping'],
    ['storage'],
    ['snapshots', 'backups', 'members', 'applying', 'reading', 'waiting'],
    ['leading', 'proposing'],
    ['replica'],
    ['host'],
  ],
  'datanode/encoding': [
    ['records', 'steps', 'geo', 'sketches'],
    ['keyspace', 'ranks', 'sessions', 'scripts'],
    ['txn', 'collections', 'strings'],
    ['lists', 'hashes', 'sets', 'zsets', 'streams', 'json'],
    ['sorting', 'rdb', 'expiry'],
  ],
  'datanode/commands': [
    ['rows'],
    ['texts', 'sessions'],
    ['members', 'transactions', 'scripts', 'pubsub', 'docs'],
    ['functions', 'strings', 'sketches', 'hashes', 'lists', 'sets', 'zsets', 'streams', 'json', 'keys', 'scanning', 'cluster', 'zan'],
    ['blocking', 'geo', 'connection', 'server', 'users'],
    ['table'],
  ],
};

function folderRule(room, folder, below) {
  const name = room.split('/').at(-1);
  return {
    name: `floor-${name}-${folder}`,
    comment: `${name}/${folder} may import code only of: ${['itself', ...below].join(', ')}`,
    severity: 'error',
    from: { path: `^src/${room}/${folder}/` },
    to: {
      path: `^src/${room}/`,
      pathNot: [folder, ...below].map((one) => `^src/${room}/${one}/`),
      dependencyTypesNot: ['type-only'],
    },
  };
}

const folderRules = Object.entries(folders).flatMap(([room, floors]) => [
  {
    name: `floor-${room.split('/').at(-1)}-has-all-folders`,
    comment: `a folder of ${room} has a floor: write it into .dependency-cruiser.cjs and ARCHITECTURE.md`,
    severity: 'error',
    from: { path: `^src/${room}/`, pathNot: floors.flat().map((one) => `^src/${room}/${one}/`) },
    to: {},
  },
  ...floors.flatMap((floor, at) =>
    floor.map((folder) => folderRule(room, folder, floors.slice(0, at).flat())),
  ),
]);

const doorRules = Object.entries(doors).map(([name, place]) => ({
  name: `door-${name.replace(/\W/g, '')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: place },
  to: { path: `node_modules/${name}` },
}));

module.exports = {
  forbidden: [
    ...floorRules,
    ...folderRules,
    ...doorRules,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'pure-raft',
      comment: 'the raft core has no world: no node builtins, no packages',
      severity: 'error',
      from: { path: '^src/datanode/raft/' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'pure-retry',
      comment: 'the retry policy has no world: no node builtins, no packages',
      severity: 'error',
      from: { path: '^src/sdk/retry\\.ts$' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'world-adapters',
      comment: 'only adapters touch files, sockets and processes (decision 2)',
      severity: 'error',
      from: {
        path: '^src/(common|meta|placedriver|datanode|sdk)/',
        pathNot:
          '^src/common/(tcp|tcp-read|fs-disk)\\.ts$|^src/common/tls/|/main\\.ts$|/http/|^src/meta/(etcd|embedded)|/engine/leveldb\\.ts$',
      },
      to: { dependencyTypes: ['core'], path: '^(fs|net|tls|http|https|child_process|timers|worker_threads|dgram|os)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs'] },
  },
};
