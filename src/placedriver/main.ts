/** Start-up of a placedriver, as a table of contents. */
import type { Clock } from '../common/clock.ts';
import { isSecureStore, storeAuth } from '../common/config-meta.ts';
import { type LockWorld, lockDataDir } from '../common/data-lock.ts';
import { type Disk, readFile } from '../common/disk.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import { listenFailure } from '../common/listen-failure.ts';
import type { Logger } from '../common/log.ts';
import { LoopMeter } from '../common/loop-meter.ts';
import type { CredentialKeeper, DaysLeft } from '../common/tls/keeper.ts';
import {
  httpTlsOf,
  keepAllCredentials,
  type StoreKeeper,
} from '../common/tls/process-credentials.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../meta/embedded/server.ts';
import { connectEtcd } from '../meta/etcd.ts';
import { SCHEMA_VERSION } from '../meta/schema.ts';
import type { MetaStore } from '../meta/store.ts';
import { type PlacedriverConfig, placementSettingsOf } from './config.ts';
import { PlacedriverCoordinator } from './coordinator.ts';
import type { LogLevel } from './http/context.ts';
import { createProbes } from './http/probes.ts';
import { startHttp } from './http/server.ts';
import { checkToken } from './http/token.ts';
import { ClusterView } from './view/cluster-view.ts';
import { Registration } from './view/registration.ts';

export interface PlacedriverWorld extends LockWorld {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configFile: string;
  setLogLevel(level: LogLevel): void;
  /** Ends the process: it cannot go on. */
  fatal(error: Error): void;
}

export interface RunningPlacedriver {
  readonly ports: { readonly http: number; readonly meta?: number };
  /** Reads the files of TLS anew; undefined where nothing speaks it. */
  readonly reload: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
}

/**
 * Resolves when it serves. Rejects with an error that names cause and remedy, and leaves nothing
 * behind then: no socket, no lock.
 */
export async function startPlacedriver(
  config: PlacedriverConfig,
  world: PlacedriverWorld,
): Promise<RunningPlacedriver> {
  const token = await readToken(config.http, world.disk);
  const listen = config.listen ?? config.host;
  const isSecure = config.meta.embedded?.tls ?? isSecureStore(config.meta);
  const kept = await keepAllCredentials(config, isSecure, world);
  const stops: (() => Promise<void> | void)[] = [() => kept.stop()];
  const stopAll = async () => {
    for (const stop of stops.toReversed()) await stop();
  };
  try {
    const embedded = await startEmbedded(config, world, listen, kept.store);
    if (embedded !== undefined) stops.push(() => embedded.close());
    const urls = config.meta.endpoints ?? [embedded!.url];
    const credentials = kept.store;
    const store = connectEtcd({ ...world, ...storeAuth(config.meta), credentials, urls });
    stops.push(() => store.close());
    const tlsDaysLeft = () => kept.daysLeft();
    const served = { store, token, credentials: kept.doors, tlsDaysLeft };
    const serving = await serve(config, world, served);
    stops.push(() => serving.stop());
    const ports = { http: serving.port, ...(embedded && { meta: embedded.port }) };
    return { ports, reload: kept.reload, stop: stopAll };
  } catch (failure) {
    await stopAll();
    throw failure;
  }
}

export interface Served {
  readonly store: MetaStore;
  readonly token: string | undefined;
  /** Where HTTP is TLS. */
  readonly credentials?: Pick<CredentialKeeper, 'current'> | undefined;
  tlsDaysLeft?(): readonly DaysLeft[] | undefined;
}

/** A placedriver on a metadata store: mastership, its view of the cluster, its door. */
export async function serve(
  config: PlacedriverConfig,
  world: PlacedriverWorld,
  { store, token, credentials, tlsDaysLeft }: Served,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const { name, host } = config;
  const options = { ...world, store, name, leaseTtlMs: config.timing['lease-ttl-ms'] };
  const view = new ClusterView(options);
  const registration = new Registration(options);
  const coordinator = new PlacedriverCoordinator({
    ...options,
    default: config.default,
    placement: placementSettingsOf(config),
    known: (key) => view.kept(key),
    mayCampaign: (signal) => registration.registered(signal),
  });
  const loop = new LoopMeter(world.clock);
  const told = { view, registration, coordinator, loop, tlsDaysLeft };
  const parts = { ...options, token, credentials, ...told };
  const http = await openDoor(config, parts);
  view.start();
  coordinator.start();
  const build = KVORUM_VERSION;
  const { http: mode } = config.tls;
  const httpTls = mode === 'off' ? {} : { httpTls: mode };
  const own = { version: SCHEMA_VERSION, name, host, httpPort: http.port, ...httpTls, build };
  registration.start(own);
  loop.start();
  return {
    port: http.port,
    async stop() {
      loop.stop();
      await http.close();
      await registration.stop();
      await coordinator.stop();
      await view.close();
    },
  };
}

interface DoorParts extends PlacedriverWorld {
  readonly store: MetaStore;
  readonly name: string;
  readonly leaseTtlMs: number;
  readonly token: string | undefined;
  readonly credentials: Served['credentials'];
  readonly tlsDaysLeft: Served['tlsDaysLeft'];
  readonly view: ClusterView;
  readonly registration: Registration;
  readonly coordinator: PlacedriverCoordinator;
  readonly loop: LoopMeter;
}

/** The HTTP API and the probes, over what the other parts know. */
function openDoor(config: PlacedriverConfig, parts: DoorParts): ReturnType<typeof startHttp> {
  const { registration, coordinator, credentials } = parts;
  const version = KVORUM_VERSION;
  const probes = createProbes({ ...parts, version, isMaster: () => coordinator.isMaster });
  const context = {
    ...parts,
    version,
    placement: placementSettingsOf(config),
    operator: () => coordinator.operator,
    deposed: () => coordinator.deposed,
    awayForMs: () => registration.awayForMs,
    rival: () => registration.rival,
    authorities: () => credentials?.current.authorities,
  };
  const address = { host: config.listen ?? config.host, port: config.ports.http };
  return startHttp(address, context, probes, httpTlsOf(config.tls, credentials)).catch(
    (failure) => {
      throw listenFailure(failure, address, 'ports.http');
    },
  );
}

/** Rejects with BAD_CONFIG for a token or a file that cannot be used. */
export async function readToken(
  { token, 'token-file': file }: PlacedriverConfig['http'],
  disk: Disk,
): Promise<string | undefined> {
  if (token !== undefined) return checkToken(token, 'http.token');
  if (file === undefined) return undefined;
  try {
    const bytes = await readFile(disk, file, limits.configBytesMax);
    return checkToken(bytes.toString('utf8').trim(), file);
  } catch (failure) {
    throw new KvorumError('BAD_CONFIG', `http.token-file: ${messageOf(failure)}`);
  }
}

/**
 * The lock comes first: already to open the store cuts and removes what a process that runs on it
 * has just written.
 */
async function startEmbedded(
  config: PlacedriverConfig,
  world: PlacedriverWorld,
  host: string,
  credentials: StoreKeeper | undefined,
): Promise<EmbeddedStore | undefined> {
  if (config.meta.embedded === undefined) return undefined;
  const { port } = config.meta.embedded;
  const dataDir = config['data-dir'];
  const lock = await lockDataDir(world, dataDir);
  const listen = { host, port };
  // the configuration has said that there are all of them
  const tls = config.meta.embedded.tls ? credentials : undefined;
  const place = { dir: `${dataDir}/meta`, listen, tls };
  // a store without a disk would keep leases, and so its master, and refuse whatever that asks for
  const onFailure = (failure: KvorumError) => world.fatal(failure);
  const store = await startEmbeddedStore({ ...world, ...place, onFailure }).catch(
    async (failure: unknown) => {
      await lock.release();
      throw failure;
    },
  );
  return {
    ...store,
    async close() {
      await store.close();
      await lock.release();
    },
  };
}
