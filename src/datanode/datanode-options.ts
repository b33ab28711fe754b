/** What a datanode is given: its configuration, and the world that only adapters touch. */
import type { Clock } from '../common/clock.ts';
import type { Disk } from '../common/disk.ts';
import type { Logger } from '../common/log.ts';
import type { Network } from '../common/network.ts';
import type { Random } from '../common/random.ts';
import type { CredentialKeeper } from '../common/tls/keeper.ts';
import type { MetaStore } from '../meta/store.ts';
import type { ProcessUsage } from './commands/rows/node-context.ts';
import type { DatanodeConfig } from './config.ts';
import type { LogTuning } from './data-dir.ts';
import type { EngineHost } from './engine/engine.ts';
import type { HostSettings } from './partition/host/host-settings.ts';
import type { TransportSettings } from './transport/settings.ts';

export interface DatanodeOptions {
  readonly config: DatanodeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  /** Between nodes, where that is another one. */
  readonly peerNetwork?: Network | undefined;
  /** What it shows and whom it trusts, where any of its doors speaks TLS. */
  readonly credentials?: CredentialKeeper | undefined;
  readonly disk: Disk;
  readonly logger: Logger;
  readonly engines: EngineHost;
  readonly store: MetaStore;
  readonly processId: number;
  readonly configFile: string;
  readonly os: string;
  /** That the process may have: the machine's, or its container's. 0: not known. */
  readonly systemMemoryBytes: number;
  readonly openFilesMax?: number | undefined;
  usage(): ProcessUsage;
  /** What a real cluster leaves at its defaults. */
  readonly tuning?: DatanodeTuning;
  /** The node cannot go on: its disk failed, or its name belongs to another. */
  fatal(error: Error): void;
}

export interface DatanodeTuning {
  readonly host?: Partial<HostSettings>;
  readonly transport?: Partial<TransportSettings>;
  readonly log?: LogTuning;
}
