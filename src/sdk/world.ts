/** What a client is given from outside, and what follows from its options. */
import type { Clock } from '../common/clock.ts';
import type { Address } from '../common/network.ts';
import type { Random } from '../common/random.ts';
import type { Argument, Connector, Outcome } from './connection.ts';
import { DatanodeSource } from './datanode-source.ts';
import type { Settings } from './options.ts';
import { type HttpGet, PlacedriverSource } from './placedriver-source.ts';
import type { Pool } from './pool.ts';
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

/** Who tells the partitions. */
export function makeSource(settings: Settings, { get }: ClientWorld, pool: Pool): TableSource {
  const { source, namespace } = settings;
  if (source.kind === 'placedrivers') {
    return new PlacedriverSource(source.addresses, namespace ?? 'default', get);
  }
  const ask = (address: Address, line: readonly Argument[]) =>
    new Promise<Outcome>((resolve) => pool.shared('any', address).send(line, resolve));
  return new DatanodeSource(source.addresses, ask);
}

/** `default` is where every connection begins, and cluster ports let nobody select. */
export function selectedNamespace({ source, namespace }: Settings): string | undefined {
  if (source.kind === 'datanodes' && namespace === 'default') return undefined;
  return namespace;
}
