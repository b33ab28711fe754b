/**
 * How many clients the process's limit of open files has room for, beside the node's own files: what
 * takes the last one keeps an engine from a file it must open, and its replica stops. LevelDB may keep
 * a fifth of the limit for its tables (it reads the limit itself); each replica has files of its own;
 * and there are the raft log, links to nodes, the metadata store, doors, and Node.js. As in Redis,
 * which keeps 32, fewer clients are let in then than were configured, and the log says so. With a limit
 * of 256 and without this, 216 idle clients stopped three of eight replicas while values were written.
 */
import { KvorumError } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import type { Logger } from '../common/log.ts';

/** What of the limit LevelDB takes for tables: one part in so many. */
const TABLES_SHARE = 5;
/** So much less room than was told of is told of again. */
const TOLD_AGAIN = 0.9;
const HOW = 'ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of docker';

export interface ClientsRoomOptions {
  /** Undefined: there is no limit, or nobody tells it. */
  readonly openFilesMax?: number | undefined;
  readonly config: { readonly limits: { readonly maxclients: number } };
  readonly logger: Logger;
}

/** Throws BAD_CONFIG when a datanode has no use for so few. */
export function assertOpenFiles(openFilesMax: number | undefined): void {
  if (openFilesMax === undefined || openFilesMax >= limits.openFilesMin) return;
  throw new KvorumError(
    'BAD_CONFIG',
    `this process may open ${openFilesMax} files, and a datanode needs ${limits.openFilesMin} at ` +
      `least, for its engines and log before any client; raise the limit (${HOW}), to ` +
      `${filesFor(limits.clientsMax, 0)} for ${limits.clientsMax} clients`,
  );
}

export class ClientsRoom {
  readonly #options: ClientsRoomOptions;
  readonly #replicas: () => number;
  #told: number;

  /** `replicas`: how many the node has. */
  constructor(options: ClientsRoomOptions, replicas: () => number) {
    this.#options = options;
    this.#replicas = replicas;
    this.#told = options.config.limits.maxclients;
  }

  /** Infinite without a limit; an operator finds a way in however many replicas there are. */
  get clients(): number {
    const { openFilesMax } = this.#options;
    if (openFilesMax === undefined) return Number.POSITIVE_INFINITY;
    const tables = Math.ceil(openFilesMax / TABLES_SHARE);
    const left = openFilesMax - tables - ownFiles(this.#replicas());
    return Math.max(limits.clientsLeast, left);
  }

  /** Warns when there is room for fewer clients than are configured, and again when for fewer yet. */
  look(): void {
    const { clients } = this;
    const { openFilesMax, config, logger } = this.#options;
    const { maxclients } = config.limits;
    const replicas = this.#replicas();
    if (clients >= maxclients || clients >= this.#told * TOLD_AGAIN) return;
    this.#told = clients;
    logger.warn('the limit of open files has no room for limits.maxclients: fewer are let in', {
      ...{ maxclients, clients, openFilesMax, replicas },
      remedy: remedyOf(maxclients, replicas),
    });
  }
}

function ownFiles(replicas: number): number {
  return limits.openFilesOwn + replicas * limits.openFilesOfReplica;
}

function remedyOf(clients: number, replicas: number): string {
  const files = filesFor(clients, replicas);
  return `for ${clients} clients raise it to ${files} (${HOW}), or lower limits.maxclients`;
}

function filesFor(clients: number, replicas: number): number {
  return Math.ceil(((clients + ownFiles(replicas)) * TABLES_SHARE) / (TABLES_SHARE - 1)) + 1;
}
