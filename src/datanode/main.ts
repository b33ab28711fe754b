/** Start-up of a datanode process, as a table of contents. */
import type { Clock } from '../common/clock.ts';
import { isSecureStore, storeAuth } from '../common/config-meta.ts';
import { type LockWorld, lockDataDir } from '../common/data-lock.ts';
import { listenFailure } from '../common/listen-failure.ts';
import type { Logger } from '../common/log.ts';
import type { Network } from '../common/network.ts';
import { httpTlsOf, keepAllCredentials } from '../common/tls/process-credentials.ts';
import { connectEtcd } from '../meta/etcd.ts';
import type { ProcessUsage } from './commands/rows/node-context.ts';
import type { DatanodeConfig } from './config.ts';
import { createDatanode, type Datanode, type StopOptions } from './datanode.ts';
import { createLevelHost } from './engine/leveldb.ts';
import { openHttpDoor } from './http/door.ts';
import { peerNetwork } from './peer-network.ts';
import type { DatanodePorts } from './reports.ts';

export interface DatanodeWorld extends LockWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly logger: Logger;
  readonly configFile: string;
  readonly os: string;
  readonly systemMemoryBytes: number;
  readonly openFilesMax: number | undefined;
  usage(): ProcessUsage;
  fatal(error: Error): void;
}

export interface RunningDatanode {
  readonly ports: DatanodePorts & { readonly http: number };
  /** Reads what may be changed while it runs: the files of TLS. Undefined: there are none. */
  readonly reload: (() => Promise<void>) | undefined;
  stop(options?: StopOptions): Promise<void>;
}

/** Resolves when the node is ready. Rejects with an error that names cause and remedy. */
export async function startDatanode(
  config: DatanodeConfig,
  world: DatanodeWorld,
): Promise<RunningDatanode> {
  const dataDir = config['data-dir'];
  const kept = await keepAllCredentials(config, isSecureStore(config.meta), world);
  const { doors: credentials } = kept;
  const peers = peerNetwork(config.tls, world, credentials);
  const lock = await lockDataDir(world, dataDir);
  const store = connectEtcd({
    ...world,
    ...storeAuth(config.meta),
    credentials: kept.store,
    urls: config.meta.endpoints,
  });
  const engines = createLevelHost({
    dir: `${dataDir}/engines`,
    disk: world.disk,
    logger: world.logger,
    cacheBytes: config.limits['engine-cache-bytes'],
  });
  const listen = { host: config.listen ?? config.host, port: config.ports.http };
  const { refused: peersRefused } = peers;
  const tlsDaysLeft = () => kept.daysLeft();
  const tls = httpTlsOf(config.tls, credentials);
  const doorWorld = { ...world, peersRefused, tls, tlsDaysLeft };
  const door = await openHttpDoor(listen, doorWorld).catch((failure) => {
    throw listenFailure(failure, listen, 'ports.http');
  });
  let datanode: Datanode;
  try {
    const handed = { ...world, peerNetwork: peers.network, credentials };
    datanode = await createDatanode({ ...handed, config, engines, store });
  } catch (failure) {
    await door.close();
    throw failure;
  }
  door.serve(datanode);
  await datanode.ready();
  return {
    ports: { ...datanode.ports, http: door.port },
    reload: kept.reload,
    async stop(options) {
      door.stopping();
      await datanode.stop(options);
      await door.close();
      await store.close();
      kept.stop();
      await lock.release();
    },
  };
}
