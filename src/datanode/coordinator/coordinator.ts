/**
 * A datanode's side of the control path: registers under a lease, follows the wanted table and the
 * leaders, reports its own leaders, and keeps the last picture on disk to serve from while the
 * metadata store is away.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import { anyAborted } from '../../common/either-signal.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { Incarnation, Revision, Term } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import { TimerSet } from '../../common/timer-set.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import {
  type DamageRecord,
  encodeRecord,
  keys,
  type LeaderRecord,
  type LoadRecord,
  type NodeRecord,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../../meta/schema.ts';
import type { Lease, MetaStore, Watch } from '../../meta/store.ts';
import { ClusterView, everythingChanged, type ViewChange } from './cluster-view.ts';
import { Life, type LifeNotes } from './life.ts';
import { LoadReporter } from './load-reporter.ts';
import { Reporter } from './reporter.ts';
import { SavedTable } from './saved-table.ts';

export interface DatanodeCoordinatorOptions {
  readonly store: MetaStore;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDir: string;
  readonly leaseTtlMs: number;
  readonly loadReportMs: number;
  readonly notes: LifeNotes;
  /** What this node carries now. */
  load(): Promise<LoadRecord>;
  /** Called with the view of disk first (when there is one), then with every change. */
  onChange(view: ClusterView, change: ViewChange): void;
  /** Once: the view shows all that was in the store when this node registered in this life. */
  onCurrent(): void;
  /** Another incarnation of this name lives, or another process of this one: this process has to end. */
  onRefused(error: KvorumError): void;
}

const RETRY_MS = 500;
/** Whoever has gone is gone from the store after one; a store that was restarted gives it once more. */
const FORMER_LEASES = 2;
/** Of tries that fail one after the other: while the store is away, a line about every minute. */
const TOLD_EVERY = 60;
/** A picture is saved at least this often, so that it is never far behind its store. */
const REVISIONS_UNSAVED_MAX = 10_000;
/** By then whoever was elected, if anyone, has said so. */
const ELECTED_MS = 5_000;
const SETTING_POLL_MS = 5;
/** Somebody else may have set it anew. */
const SETTING_WAIT_MS = 1_000;

export class DatanodeCoordinator {
  readonly #options: DatanodeCoordinatorOptions;
  readonly #leaders: Reporter<LeaderRecord>;
  /** Key → what this node's leader reported last. */
  readonly #led = new Map<string, LeaderRecord>();
  readonly #damages: Reporter<DamageRecord>;
  readonly #loads: LoadReporter;
  readonly #life: Life;
  readonly #stop = new AbortController();
  /** Of groups whose leader stepped down for a later term: somebody may be elected yet. */
  readonly #betweenTerms: TimerSet;
  readonly #saved: SavedTable;
  #view: ClusterView;
  #savedRevision: Revision = 0;
  #watch: Watch | undefined;
  #lease: Lease | undefined;
  #registering: Promise<void> = Promise.resolve();
  /** Until it has begun to register. */
  #own: NodeRecord | undefined;
  #refused = false;
  /** Until then a former life of this node at another address may still have its lease. */
  #formerUntilMs = 0;
  #registeredAt: Revision | undefined;
  #seenRevision: Revision = 0;
  #current = false;

  constructor(options: DatanodeCoordinatorOptions) {
    this.#options = options;
    this.#view = new ClusterView((problem) => this.#onProblem(problem));
    this.#leaders = new Reporter({ ...options, kind: recordKinds.leader, isKnown: isKnownLeader });
    this.#loads = new LoadReporter(options);
    this.#life = new Life(options.notes);
    this.#saved = new SavedTable(options, this.#stop.signal);
    this.#betweenTerms = new TimerSet(options.clock);
    this.#damages = new Reporter({ ...options, kind: recordKinds.damage, isKnown: () => true });
  }

  get view(): ClusterView {
    return this.#view;
  }

  /** Serves from the disk's picture at once; registration and watch follow in the background. */
  async start(record: NodeRecord): Promise<void> {
    const image = await this.#saved.read();
    if (image !== undefined) {
      this.#view = ClusterView.fromImage(image, (problem) => this.#onProblem(problem));
      this.#options.onChange(this.#view, everythingChanged);
    }
    this.#own = record;
    this.#formerUntilMs =
      this.#options.clock.monotonicMs() + FORMER_LEASES * this.#options.leaseTtlMs;
    this.#registering = this.#keepRegistered(record);
    this.#watch = this.#options.store.watch(keys.root, {
      onList: (items, revision) => this.#changed(this.#view.list(items), revision),
      onEvents: (events, revision) => this.#changed(this.#view.apply(events), revision),
    });
  }

  reportLeader(record: LeaderRecord): void {
    const key = keys.leader(record.namespace, record.partition);
    this.#led.set(key, record);
    this.#leaders.report(key, record);
  }

  /**
   * Nobody leads the group in this term, as a replica here knows. If it led in that its report says so; if
   * before, once nobody was elected for a while. No later leader is written over (`isKnownLeader`).
   */
  resign({ namespace, partition, group }: PartitionRecord, term: Term): void {
    const key = keys.leader(namespace, partition);
    const led = this.#led.get(key);
    if (led === undefined) return;
    if (led.group !== group) this.#led.delete(key);
    else if (led.term === term) this.#resign(key, led);
    else this.#betweenTerms.after(ELECTED_MS, () => this.#resign(key, led));
  }

  #resign(key: string, led: LeaderRecord): void {
    if (this.#led.get(key) !== led) return;
    this.#led.delete(key);
    this.#leaders.report(key, { ...led, resigned: true });
  }

  /**
   * Sets something for the whole cluster; resolves when this node knows it, others do soon. Rejects
   * with STORE_UNAVAILABLE.
   */
  async setSetting(name: string, value: string): Promise<void> {
    const { store, clock } = this.#options;
    const record = { version: SCHEMA_VERSION, name, value };
    await store.put(keys.setting(name), encodeRecord(record));
    for (let waitedMs = 0; waitedMs < SETTING_WAIT_MS; waitedMs += SETTING_POLL_MS) {
      if (this.#view.setting(name) === value) return;
      await sleep(clock, SETTING_POLL_MS);
    }
  }

  reportDamage(record: DamageRecord): void {
    this.#damages.report(keys.damage(record.replica), record);
  }

  /** Withdraws the registration (a graceful stop) and writes what was not saved yet. */
  async stop(): Promise<void> {
    this.#stop.abort(new KvorumError('STOPPING', 'the datanode stops'));
    this.#betweenTerms.end();
    this.#watch?.close();
    await this.#leaders.stop();
    await this.#damages.stop();
    await this.#registering;
    await this.#lease?.revoke().catch(() => {});
    await this.#saved.settled();
  }

  #changed(change: ViewChange, revision: Revision): void {
    if (this.#stop.signal.aborted) return;
    this.#view.asOf(this.#options.store.identity(), revision);
    if (change.table) this.#forgetLed();
    // what others carry, and what else no datanode asks for
    const changed = Object.values(change).includes(true);
    if (!changed && revision < this.#savedRevision + REVISIONS_UNSAVED_MAX) return;
    this.#savedRevision = revision;
    this.#saved.save(() => this.#view.image());
    this.#options.onChange(this.#view, change);
    this.#seenRevision = revision;
    this.#tellCurrent();
    this.#checkAlone();
  }

  /** Of groups that the table has no more: there is nobody to resign for. */
  #forgetLed(): void {
    const groups = new Set(this.#view.partitions().map(({ group }) => group));
    for (const [key, { group }] of this.#led) {
      if (group === undefined || !groups.has(group)) this.#led.delete(key);
    }
  }

  /** Once this process has registered nobody else does, but one with a copy of its data directory. */
  #checkAlone(): void {
    const { signal } = this.#stop;
    if (signal.aborted || this.#own === undefined || this.#registeredAt === undefined) return;
    if (this.#seenRevision < this.#registeredAt) return;
    const shown = this.#view.nodeRecord(this.#own.node);
    if (shown === undefined || shown.bootId === this.#own.bootId) return;
    this.#refuse(sameNode(shown));
  }

  #refuse(error: KvorumError): void {
    if (this.#refused) return;
    this.#refused = true;
    this.#options.onRefused(error);
  }

  #tellCurrent(): void {
    const { signal } = this.#stop;
    if (this.#current || signal.aborted || this.#registeredAt === undefined) return;
    if (this.#seenRevision < this.#registeredAt) return;
    this.#current = true;
    this.#options.onCurrent();
  }

  #onProblem(problem: string): void {
    this.#options.logger.error('metadata that cannot be used: what was last read stays', {
      problem,
    });
  }

  async #keepRegistered(record: NodeRecord): Promise<void> {
    const { clock, logger } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#register(record);
        failures = 0;
      } catch (failure) {
        if (failure instanceof KvorumError && failure.code === 'CONFLICT') {
          this.#refuse(failure);
          return;
        }
        if (!this.#stop.signal.aborted && failures++ % TOLD_EVERY === 0) {
          logger.warn('not registered', { error: messageOf(failure), tries: failures });
        }
      }
      await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
    }
  }

  /** Not once this life has registered: who is there now came after it. */
  #mayBeFormer(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#registeredAt === undefined && nowMs < this.#formerUntilMs;
  }

  /** One for all attempts while it lasts: whoever forgets a lease keeps it alive in the store. */
  async #holdLease(): Promise<Lease> {
    const { store, leaseTtlMs } = this.#options;
    if (this.#lease === undefined || this.#lease.lost.aborted) {
      this.#lease = await store.grantLease(leaseTtlMs);
    }
    return this.#lease;
  }

  /** Resolves when the registration has ended. */
  async #register(record: NodeRecord): Promise<void> {
    const { logger } = this.#options;
    const lease = await this.#holdLease();
    const revision = await this.#writeRegistration(record, lease);
    logger.info('registered', { node: record.node });
    this.#registeredAt ??= revision;
    this.#tellCurrent();
    this.#checkAlone();
    const ended = new AbortController();
    const telling = this.#loads.tell(lease, ended.signal);
    await anyAborted(lease.lost, this.#stop.signal);
    ended.abort();
    await telling;
    if (lease.lost.aborted) logger.warn('the lease was lost; registering again');
  }

  /** Resolves with its revision. Throws CONFLICT when the name is another's. */
  async #writeRegistration(record: NodeRecord, lease: Lease): Promise<Revision> {
    const { store } = this.#options;
    const key = keys.node(record.node);
    const known = await store.get(key);
    const name = await store.get(keys.incarnation(record.node));
    const alive = known && decodeRecord(recordKinds.node, key, known.value);
    const named = name && decodeRecord(recordKinds.incarnation, name.key, name.value);
    const refused = this.#refusedBy(record, alive, (alive ?? named)?.incarnation);
    if (refused !== undefined) {
      await lease.revoke().catch(() => {});
      throw refused;
    }
    const told = await this.#life.begin(record, named);
    const { succeeded, revision } = await store.transaction(
      [
        { key, modRevision: known?.modRevision ?? 0 },
        { key: keys.incarnation(record.node), modRevision: name?.modRevision ?? 0 },
      ],
      [{ type: 'put', key, value: encodeRecord(record), lease }, told],
    );
    if (succeeded) return revision;
    throw new KvorumError('STORE_UNAVAILABLE', 'the registration changed meanwhile');
  }

  /**
   * Why `record` is never to be written beside who is registered (`alive`), and the incarnation that has
   * its name (`named`). Throws while that may still end by itself.
   */
  #refusedBy(
    record: NodeRecord,
    alive: NodeRecord | undefined,
    named: Incarnation | undefined,
  ): KvorumError | undefined {
    if (named !== undefined && named !== record.incarnation) {
      return new KvorumError(
        'CONFLICT',
        `the name ${record.node} belongs to incarnation ${named}; this data directory is ` +
          `incarnation ${record.incarnation}: give it another name, or start it empty`,
      );
    }
    if (alive === undefined || alive.bootId === record.bootId) return undefined;
    if (this.#registeredAt === undefined && !isElsewhere(alive, record)) return undefined;
    if (this.#mayBeFormer()) throw stillThere(alive);
    return sameNode(alive);
  }
}

/**
 * Only ever to a higher term; within a term only its one leader has news (decision 17). Terms count
 * within a group: one of a namespace made anew, or rebuilt, is a higher one and begins with low terms.
 */
function isKnownLeader(stored: LeaderRecord, news: LeaderRecord): boolean {
  const { group = news.group } = stored; // an older build names none
  if (group !== undefined && news.group !== undefined && group !== news.group) {
    return group > news.group;
  }
  if (stored.term !== news.term) return stored.term > news.term;
  return encodeRecord(stored) === encodeRecord(news);
}

/** A former life of this process had its address; whoever has another one may be alive. */
function isElsewhere(other: NodeRecord, own: NodeRecord): boolean {
  return other.host !== own.host || other.transportPort !== own.transportPort;
}

function stillThere({ node, host, transportPort }: NodeRecord): KvorumError {
  const text = `${node} is registered at ${host}:${transportPort}: waiting for that to end`;
  return new KvorumError('STORE_UNAVAILABLE', text);
}

/** Two processes of one identity would vote twice: this one ends. */
function sameNode({ node, incarnation, host, transportPort }: NodeRecord): KvorumError {
  return new KvorumError(
    'CONFLICT',
    `another process is node ${node} already, at ${host}:${transportPort} with incarnation ` +
      `${incarnation}, and two on copies of one data directory would vote twice: keep one of the two, ` +
      'and give the other an empty directory and a name of its own',
  );
}
