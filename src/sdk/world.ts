/** What a client is given from outside, and what follows from its options. */
import { type Clock, systemClock } from '../common/clock.ts';
import { hostPort } from '../common/host-port.ts';
import { limits } from '../common/limits.ts';
import type { Address } from '../common/network.ts';
import { type Random, systemRandom } from '../common/random.ts';
import type { Argument, Connection, ConnectionSettings, Connector, Outcome } from './connection.ts';
import { DatanodeSource } from './datanode-source.ts';
import { ownError } from './errors.ts';
import { ioredisConnector } from './ioredis-connection.ts';
import type { ClientOptions, Settings } from './options.ts';
import { fetchGet, type HttpGet, PlacedriverSource } from './placedriver-source.ts';
import type { Pool } from './pool.ts';
import type { SubscriberOptions } from './subscriber.ts';
import type { TableSource } from './table.ts';

/** The world of a client; each default is the process's own. */
export interface ClientWorld {
  readonly clock: Clock;
  readonly random: Random;
  /** Makes connections to datanodes; default: ioredis over TCP. */
  readonly connector: Connector;
  /** Asks placedrivers; default: fetch. */
  readonly get: HttpGet;
}

/** Throws BAD_OPTION for anything else: options in its place would be taken for nothing. */
export function worldOf(given: Partial<ClientWorld>, settings: Settings): ClientWorld {
  const known = new Set<string>(['clock', 'random', 'connector', 'get']);
  const isWorld = typeof given === 'object' && given !== null;
  const strange = isWorld ? Object.keys(given).find((name) => !known.has(name)) : String(given);
  if (strange !== undefined) {
    const text = `a client takes one argument: a URL, with options as ?name=value, or an object`;
    throw ownError('BAD_OPTION', `${text} of options; ${strange} was given in a second one`);
  }
  const clock = given.clock ?? systemClock;
  return {
    clock,
    random: given.random ?? systemRandom(),
    connector: given.connector ?? ioredisConnector(clock),
    get: given.get ?? fetchGet(settings.connectTimeoutMs, settings.tls),
  };
}

/** Who tells the partitions. */
export function makeSource(
  settings: Settings,
  { clock, get }: ClientWorld,
  pool: Pool,
): TableSource {
  const { source, namespace } = settings;
  if (source.kind === 'placedrivers') {
    return new PlacedriverSource(source.addresses, namespace ?? 'default', get, clock);
  }
  const ask = (address: Address, line: readonly Argument[]) =>
    askInTime(pool.shared('lookup', address), line, clock, settings.attemptTimeoutMs);
  return new DatanodeSource(source.addresses, ask);
}

/** A datanode that stands still, or a link that carries nothing, keeps no lookup from the others. */
function askInTime(
  connection: Connection,
  line: readonly Argument[],
  clock: Clock,
  timeoutMs: number,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(timeoutMs, () => {
      resolve({ kind: 'lost', cause: new Error(`no answer within ${timeoutMs} ms`) });
      connection.close();
    });
    connection.send(line, (outcome) => {
      timer.cancel();
      resolve(outcome);
    });
  });
}

/** `default` is where every connection begins, and cluster ports let nobody select. */
function selectedNamespace({ source, namespace }: Settings): string | undefined {
  if (source.kind === 'datanodes' && namespace === 'default') return undefined;
  return namespace;
}

/** Of every connection, beside where it goes. */
export function connectionSettings(
  settings: Settings,
): Omit<ConnectionSettings, 'address' | 'readOnly'> {
  const { username, password, connectTimeoutMs, tls } = settings;
  return { namespace: selectedNamespace(settings), username, password, connectTimeoutMs, tls };
}

/** Of every call. */
export function callSettings(settings: Settings) {
  const { attemptsMax, backoffMinMs, backoffMaxMs } = settings;
  const { attemptTimeoutMs, dc, replicaMaxStalenessMs } = settings;
  const retry = { attemptsMax, backoffMinMs, backoffMaxMs };
  return { retry, attemptTimeoutMs, dc, replicaMaxStalenessMs };
}

/** A subscriber goes from node to node until one serves it. */
export function subscriberOptions(
  settings: Settings,
  { clock, connector, random }: ClientWorld,
  nodes: () => readonly Address[],
  isLeftAlone: () => boolean,
): SubscriberOptions {
  const { backoffMinMs, backoffMaxMs, attemptTimeoutMs } = settings;
  const seed = random.u32();
  return {
    clock,
    backoffMinMs,
    backoffMaxMs,
    silentMs: attemptTimeoutMs,
    pingMs: limits.sdkPingMs,
    isLeftAlone,
    target: (place) => nodes()[(seed + place) % Math.max(1, nodes().length)],
    isKnown: ({ host, port }) =>
      nodes().length === 0 || nodes().some((node) => node.host === host && node.port === port),
    open: ({ host, port }, events) => {
      const address = { host, port };
      return connector.open({ ...connectionSettings(settings), address, readOnly: false }, events);
    },
  };
}

/** The options that made `settings`, with others in place of some. */
export function optionsAgain(settings: Settings, others: ClientOptions): ClientOptions {
  const { source, sessions, ...rest } = settings;
  if (others.placedrivers !== undefined || others.datanodes !== undefined) {
    return { ...rest, ...others };
  }
  const places =
    source.kind === 'placedrivers'
      ? { placedrivers: source.addresses }
      : { datanodes: source.addresses.map(hostPort) };
  return { ...rest, sessions, ...places, ...others };
}
