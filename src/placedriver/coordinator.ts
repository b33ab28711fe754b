/**
 * Mastership: campaigns, names the cluster, watches everything, and lets the chores do what each
 * change asks for. Everything that is decided is in the metadata store; every write of wanted state
 * is fenced by the election's revision (decision 17).
 */
import { type Clock, sleep } from '../common/clock.ts';
import { anyAborted, eitherSignal } from '../common/either-signal.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { NodeId } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import { endOfTurn } from '../common/slices.ts';
import { type ClusterRecord, encodeRecord, keys, SCHEMA_VERSION } from '../meta/schema.ts';
import type { Leadership, MetaStore } from '../meta/store.ts';
import { Agenda } from './agenda.ts';
import { BanWatch } from './ban-watch.ts';
import { type Chore, createChores } from './chores/chores.ts';
import type { DefaultNamespace } from './chores/default-namespace.ts';
import { createOperator } from './operator/create.ts';
import type { Operator } from './operator/operator.ts';
import { type KnownRecords, Picture } from './picture.ts';
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
  /** What this process has read of the same store for other purposes. */
  readonly known?: KnownRecords;
  /** Resolves when it may be master; rejects when `signal` aborts. Absent: from the beginning. */
  mayCampaign?(signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 500;

export class PlacedriverCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #chores: readonly Chore[];
  readonly #stop = new AbortController();
  readonly #ban: BanWatch;
  #running: Promise<void> = Promise.resolve();
  #term: MasterTerm | undefined;
  /** It was master, and has not been elected again. */
  #isOver = false;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#chores = createChores(options.default);
    this.#ban = new BanWatch(options.name);
  }

  get isMaster(): boolean {
    return this.#term !== undefined && !this.#term.leadership.lost.aborted;
  }

  /** For an operator's requests; undefined while another placedriver is master. */
  get operator(): Operator | undefined {
    return this.#term !== undefined && this.isMaster ? createOperator(this.#term) : undefined;
  }

  /** Why it is not master any more, also while the store still names it; undefined: none of that. */
  get deposed(): 'banned' | 'ended' | undefined {
    if (this.#ban.isBanned) return 'banned';
    const isOver = this.#isOver || this.#term?.leadership.lost.aborted;
    return isOver ? 'ended' : undefined;
  }

  start(): void {
    this.#ban.start(this.#options.store);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KvorumError('STOPPING', 'the placedriver stops'));
    await this.#running;
    this.#ban.close();
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

  /** One mastership, from campaign to loss; a ban ends either. */
  async #serveTerm(): Promise<void> {
    const { store, logger, name, leaseTtlMs } = this.#options;
    await this.#options.mayCampaign?.(this.#stop.signal);
    await this.#ban.lifted(this.#stop.signal);
    const lease = await store.grantLease(leaseTtlMs);
    const until = eitherSignal(this.#stop.signal, this.#ban.begun);
    try {
      const leadership = await store.campaign(keys.election, name, lease, until.signal);
      this.#isOver = false;
      logger.info('this placedriver is master', { fence: leadership.revision });
      try {
        await ensureCluster(this.#options);
        await this.#serve(this.#termOf(leadership), until.signal);
      } finally {
        this.#isOver = true;
        logger.info('this placedriver is master no more', { fence: leadership.revision });
      }
    } finally {
      this.#term = undefined;
      until.release();
      await lease.revoke().catch(() => {});
    }
  }

  #termOf(leadership: Leadership): MasterTerm {
    const { store, clock, random, logger, placement, known } = this.#options;
    const picture = new Picture((problem) => {
      logger.error('metadata that cannot be used: what was last read stays', { problem });
    }, known);
    const fence = { key: leadership.key, createRevision: leadership.revision };
    const settings = { ...defaultPlacementSettings, ...placement };
    return { store, clock, random, logger, settings, leadership, fence, picture };
  }

  /** Watches everything until mastership ends, and does what each change asks for. */
  async #serve(term: MasterTerm, until: AbortSignal): Promise<void> {
    const { store, clock, picture, settings } = term;
    const agenda: Agenda = new Agenda(clock, () => this.#work(term, agenda));
    // its lease may hold while its key is gone: then another is master, and nothing can be written
    const deposed = new AbortController();
    const { key } = term.leadership;
    const watch = store.watch(keys.root, {
      onList: (items, revision) => {
        picture.list(items, revision);
        if (items.every((item) => item.key !== key)) deposed.abort();
        this.#term = term;
        agenda.ask(0);
      },
      onEvents: (events) => {
        picture.apply(events);
        if (events.some((event) => event.type === 'delete' && event.key === key)) deposed.abort();
        agenda.ask(settings.planDelayMs);
      },
    });
    try {
      await anyAborted(term.leadership.lost, until, deposed.signal);
    } finally {
      watch.close();
      await agenda.stop();
    }
  }

  /** One chore's failure is told and tried again, and does not keep the others from their work. */
  async #work(term: MasterTerm, agenda: Agenda): Promise<void> {
    const { clock, logger, leadership } = term;
    for (const [at, chore] of this.#chores.entries()) {
      // each looks at all that is known: what came meanwhile has its turn before the next
      if (at > 0) await endOfTurn(clock);
      if (leadership.lost.aborted) return;
      try {
        const afterMs = await chore(term);
        if (afterMs !== undefined) agenda.ask(afterMs);
      } catch (failure) {
        logger.warn('placement failed', { error: messageOf(failure) });
        agenda.ask(RETRY_MS);
      }
    }
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
