/** Start-up of a placedriver, as a table of contents. */
import type { Clock } from '../common/clock.ts';
import type { Disk } from '../common/disk.ts';
import type { Logger } from '../common/log.ts';
import { LoopMeter } from '../common/loop-meter.ts';
import type { Random } from '../common/random.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { startEmbeddedStore } from '../meta/embedded/server.ts';
import { connectEtcd } from '../meta/etcd.ts';
import { type PlacedriverConfig, placementSettingsOf } from './config.ts';
import { PlacedriverCoordinator } from './coordinator.ts';
import { createProbes } from './http/probes.ts';
import { startHttp } from './http/server.ts';
import { ClusterQueries } from './queries.ts';

export interface PlacedriverWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  readonly logger: Logger;
}

export interface RunningPlacedriver {
  readonly ports: { readonly http: number; readonly meta?: number };
  stop(): Promise<void>;
}

export async function startPlacedriver(
  config: PlacedriverConfig,
  world: PlacedriverWorld,
): Promise<RunningPlacedriver> {
  const listen = config.listen ?? config.host;
  const embedded = await startEmbedded(config, world, listen);
  const urls = config.meta.endpoints ?? [embedded!.url];
  const store = connectEtcd({ ...world, urls });
  const coordinator = new PlacedriverCoordinator({
    ...world,
    store,
    name: config.name,
    leaseTtlMs: config.timing['lease-ttl-ms'],
    default: config.default,
    placement: placementSettingsOf(config),
  });
  coordinator.start();
  const isMaster = () => coordinator.isMaster;
  const queries = new ClusterQueries(store, config.name, KVORUM_VERSION, isMaster);
  const loop = new LoopMeter(world.clock);
  const probes = createProbes(queries, loop);
  const http = await startHttp({ host: listen, port: config.ports.http }, queries, probes);
  loop.start();
  return {
    ports: { http: http.port, ...(embedded && { meta: embedded.port }) },
    async stop() {
      loop.stop();
      await http.close();
      await coordinator.stop();
      await store.close();
      await embedded?.close();
    },
  };
}

async function startEmbedded(config: PlacedriverConfig, world: PlacedriverWorld, host: string) {
  if (config.meta.embedded === undefined) return undefined;
  const { port } = config.meta.embedded;
  const dir = `${config['data-dir']}/meta`;
  return startEmbeddedStore({ ...world, dir, listen: { host, port } });
}
