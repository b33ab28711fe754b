/**
 * Mastership: campaigns, names the cluster, watches everything, and lets the chores do what each
 * change asks for. Everything that is decided is in the metadata store; every write of wanted state
 * is fenced by the election's revision (decision 17).
 */
import { type Clock, sleep } from '../common/clock.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { NodeId } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import { type ClusterRecord, encodeRecord, keys, SCHEMA_VERSION } from '../meta/schema.ts';
import type { Leadership, MetaStore } from '../meta/store.ts';
import { type Chore, createChores } from './chores/chores.ts';
import type { DefaultNamespace } from './chores/default-namespace.ts';
import { createOperator } from './operator/create.ts';
import type { Operator } from './operator/operator.ts';
import { Picture } from './picture.ts';
import { defaultPlacementSettings, type MasterTerm, type PlacementSettings } from './term.ts';

export interface CoordinatorOptions {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly name: NodeId;
  readonly leaseTtlMs: number;
  readonly default: DefaultNamespace;
  readonly placement?: Partial<PlacementSettings>;
}

const RETRY_MS = 500;

export class PlacedriverCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #chores: readonly Chore[];
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #term: MasterTerm | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#chores = createChores(options.default);
  }

  get isMaster(): boolean {
    return this.#term !== undefined && !this.#term.leadership.lost.aborted;
  }

  /** For an operator's requests; undefined while another placedriver is master. */
  get operator(): Operator | undefined {
    return this.#term !== undefined && this.isMaster ? createOperator(this.#term) : undefined;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KvorumError('STOPPING', 'the placedriver stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#serveTerm();
      } catch (failure) {
        if (this.#stop.signal.aborted) return;
        logger.warn('mastership ended', { error: messageOf(failure) });
      }
      await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
    }
  }

  /** One mastership, from campaign to loss. */
  async #serveTerm(): Promise<void> {
    const { store, logger, name, leaseTtlMs } = this.#options;
    const lease = await store.grantLease(leaseTtlMs);
    try {
      const leadership = await store.campaign(keys.election, name, lease, this.#stop.signal);
      logger.info('this placedriver is master', { fence: leadership.revision });
      await ensureCluster(this.#options);
      await this.#serve(this.#termOf(leadership));
    } finally {
      this.#term = undefined;
      await lease.revoke().catch(() => {});
    }
  }

  #termOf(leadership: Leadership): MasterTerm {
    const { store, clock, random, logger, placement } = this.#options;
    const picture = new Picture((problem) => {
      logger.error('metadata that cannot be used: what was last read stays', { problem });
    });
    const fence = { key: leadership.key, createRevision: leadership.revision };
    const settings = { ...defaultPlacementSettings, ...placement };
    return { store, clock, random, logger, settings, leadership, fence, picture };
  }

  /** Watches everything until mastership ends, and does what each change asks for. */
  async #serve(term: MasterTerm): Promise<void> {
    const { store, clock, logger, picture } = term;
    let working = Promise.resolve();
    let asked = false;
    const consider = () => {
      if (asked) return;
      asked = true;
      working = working
        .then(() => {
          asked = false;
          return this.#work(term, lookAgain);
        })
        .catch((failure) => {
          logger.warn('placement failed', { error: messageOf(failure) });
          void sleep(clock, RETRY_MS, this.#stop.signal).then(consider, () => {});
        });
    };
    // one look that is due makes later ones needless: it asks every chore
    let dueMs = Number.POSITIVE_INFINITY;
    const lookAgain = (afterMs: number) => {
      const atMs = clock.monotonicMs() + afterMs;
      if (atMs >= dueMs) return;
      dueMs = atMs;
      const look = () => {
        if (dueMs === atMs) dueMs = Number.POSITIVE_INFINITY;
        consider();
      };
      void sleep(clock, afterMs, this.#stop.signal).then(look, () => {});
    };
    const watch = store.watch(keys.root, {
      onList: (items) => {
        picture.list(items);
        this.#term = term;
        consider();
      },
      onEvents: (events) => {
        picture.apply(events);
        consider();
      },
    });
    try {
      await aborted(term.leadership.lost, this.#stop.signal);
    } finally {
      watch.close();
      await working;
    }
  }

  /** One chore's failure is told and tried again, and does not keep the others from their work. */
  async #work(term: MasterTerm, lookAgain: (afterMs: number) => void): Promise<void> {
    const { leadership } = term;
    const failures: unknown[] = [];
    for (const chore of this.#chores) {
      if (leadership.lost.aborted) return;
      try {
        const afterMs = await chore(term);
        if (afterMs !== undefined) lookAgain(afterMs);
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Draws the cluster's id the first time any placedriver serves. */
async function ensureCluster(options: CoordinatorOptions): Promise<void> {
  const { store, random, clock } = options;
  const record: ClusterRecord = {
    version: SCHEMA_VERSION,
    clusterId: random.hex(8),
    createdMs: clock.wallMs(),
  };
  await store.transaction(
    [{ key: keys.cluster, modRevision: 0 }],
    [{ type: 'put', key: keys.cluster, value: encodeRecord(record) }],
  );
}

/** Resolves when either signal aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }
  });
}
