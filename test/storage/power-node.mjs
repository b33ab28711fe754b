/**
 * The datanode whose file operations are recorded: the built product in one process, with a
 * metadata store in memory, small segments and small write buffers. Says where it listens and what
 * the metadata store holds, and ends without ceremony with its standard input.
 * Plain JavaScript: strace runs it by itself. `node power-node.mjs <dist> <data-dir> [<items>]`;
 * `items`: a file with what the metadata store holds already.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, dir, known] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(dist, file)).href);
const { systemClock } = await load('common/clock.js');
const { fsDisk } = await load('common/fs-disk.js');
const { systemRandom } = await load('common/random.js');
const { tcpNetwork } = await load('common/tcp.js');
const { datanodeConfigSchema } = await load('datanode/config.js');
const { createDatanode } = await load('datanode/datanode.js');
const { createLevelHost } = await load('datanode/engine/leveldb.js');
const { MemoryMeta } = await load('meta/memory.js');
const { PlacedriverCoordinator } = await load('placedriver/coordinator.js');

const KIB = 1_024;
const say = (message, fields) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
const logger = { debug() {}, info() {}, warn: say, error: say, child: () => logger };
const meta = new MemoryMeta({ clock: systemClock });
if (known)
  for (const [key, item] of JSON.parse(readFileSync(known, 'utf8'))) meta.items.set(key, item);
const world = {
  clock: systemClock,
  random: systemRandom(),
  network: tcpNetwork,
  disk: fsDisk,
  logger,
};
const cluster = { nodes: 1, partitions: 2, replicas: 1 };
const driver = { ...world, store: meta.connect(), name: 'placedriver1', leaseTtlMs: 60_000 };
if (!known) new PlacedriverCoordinator({ ...driver, default: cluster }).start();
const datanode = await createDatanode({
  ...world,
  config: datanodeConfigSchema.parse({
    name: 'n1',
    'data-dir': dir,
    ports: { gateway: 0, cluster: 0, follower: 0, transport: 0, http: 0 },
    meta: { endpoints: ['memory:1'] },
    timing: { 'tick-ms': 20, 'engine-sync-interval-ms': 100, 'lease-ttl-ms': 60_000 },
  }),
  engines: createLevelHost({
    ...world,
    dir: join(dir, 'engines'),
    cacheBytes: 16 * KIB * KIB,
    writeBufferBytes: 128 * KIB,
  }),
  store: meta.connect(),
  processId: process.pid,
  configFile: '',
  usage: () => ({ rssBytes: 0, heapBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
  tuning: {
    log: { segmentBytes: 256 * KIB, cacheBytes: 64 * KIB },
    host: { logKeepEntries: 100, logKeepBytes: 512 * KIB },
  },
  fatal(error) {
    say('fatal', { error: error.message });
    process.exit(1);
  },
});
await datanode.ready();
const { gateway } = datanode.ports;
process.stdout.write(`${JSON.stringify({ gateway, items: [...meta.items] })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
