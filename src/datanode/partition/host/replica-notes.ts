/**
 * What a node remembers of its replicas beside their logs: which wanted record each was made from,
 * which were found damaged, which may have promised their vote to a leader, and how often the node
 * has been started. It outlives the process: a replica is only given up by a record newer than the
 * one it came from (the saved table may be older than the replica), a damaged one is never opened
 * again, one that promised nothing may vote as soon as it is back, and an older copy of all this is
 * told by its count (`coordinator/life`). Each time it is written it says how far the raft log was on
 * disk: a log that ends before that was cut, and has forgotten votes (`raftlog/recovery`).
 */
import { readChecked, writeChecked } from '../../../common/checked-file.ts';
import type { Disk } from '../../../common/disk.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { Epoch, GroupId, Incarnation, ReplicaId } from '../../../common/ids.ts';

export interface Origin {
  readonly group: GroupId;
  /** Of the wanted record that first named the replica here. */
  readonly epoch: Epoch;
}

interface Notes {
  readonly version: number;
  /** Whose notes these are: another's log must not be taken for one's own. */
  readonly incarnation: Incarnation;
  readonly origins: readonly (readonly [ReplicaId, Origin])[];
  readonly damages: readonly (readonly [ReplicaId, string])[];
  /** Absent: written before this was noted, so each of them may have promised. */
  readonly promised?: readonly ReplicaId[];
  /** Which start of the node wrote this; absent: an older build's. */
  readonly life?: number;
  /** A batch of the raft log that was on disk when this was written; absent: none yet, or an older build's. */
  readonly logSeq?: number;
}

/** The node's raft log: what is noted of it is known to have been on disk. */
interface NotedLog {
  readonly durableSeq: number;
}

const VERSION = 1;
const REMEDY = 'move the data directory away: the node comes back empty and is filled by its peers';

export class ReplicaNotes {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #incarnation: Incarnation;
  readonly #origins: Map<ReplicaId, Origin>;
  readonly #damages: Map<ReplicaId, string>;
  /** What the file says, or will say when it is written next. */
  readonly #promised: Set<ReplicaId>;
  /** Of these the file on disk says it. */
  readonly #mayPromise: Set<ReplicaId>;
  #life: number | undefined;
  /** What the file on disk says, or more. */
  #logSeq: number;
  #log: NotedLog = { durableSeq: 0 };
  #writing: Promise<void> = Promise.resolve();

  private constructor(disk: Disk, path: string, notes: Notes) {
    this.#disk = disk;
    this.#path = path;
    this.#incarnation = notes.incarnation;
    this.#origins = new Map(notes.origins);
    this.#damages = new Map(notes.damages);
    this.#promised = new Set(notes.promised ?? this.#origins.keys());
    this.#mayPromise = new Set(this.#promised);
    this.#life = notes.life;
    this.#logSeq = notes.logSeq ?? 0;
  }

  /**
   * Reads `<dir>/replicas`; throws KvorumError CORRUPT when it is damaged, or not this incarnation's,
   * TOO_NEW when a newer build wrote it.
   */
  static async open(disk: Disk, dir: string, incarnation: Incarnation): Promise<ReplicaNotes> {
    const path = `${dir}/replicas`;
    const fresh: Notes = { version: VERSION, incarnation, origins: [], damages: [], promised: [] };
    const notes = (await readChecked<Notes>(disk, path, REMEDY)) ?? fresh;
    if (notes.version > VERSION) {
      const text = `${path}: of version ${notes.version}, this build reads ${VERSION}`;
      throw new KvorumError('TOO_NEW', `${text}; upgrade kvorum on this node`);
    }
    if (notes.incarnation !== incarnation) {
      const text = `${path}: belongs to incarnation ${notes.incarnation}, this is ${incarnation}`;
      throw new KvorumError('CORRUPT', `${text}; ${REMEDY}`);
    }
    return new ReplicaNotes(disk, path, notes);
  }

  /** Throws CORRUPT when the log holds a replica that is not noted: then it is another's log. */
  checkLog(held: readonly ReplicaId[]): void {
    const stranger = held.find((id) => !this.#origins.has(id));
    if (stranger === undefined) return;
    const text = `${this.#path}: does not know replica ${stranger}, which the raft log holds`;
    throw new KvorumError('CORRUPT', `${text}; ${REMEDY}`);
  }

  /** A batch of the raft log that was durable; 0: none is known. */
  get logSeq(): number {
    return this.#logSeq;
  }

  /** From now on each writing notes how far `log` is on disk. */
  follow(log: NotedLog): void {
    this.#log = log;
  }

  /** Notes how far the log is on disk, unless that is noted already; resolves when it is. */
  async noteLog(): Promise<void> {
    if (this.#log.durableSeq > this.#logSeq) await this.#write();
  }

  /** The last start of the node that wrote here; undefined: an older build did, or none yet. */
  get life(): number | undefined {
    return this.#life;
  }

  /** Resolves when it is on disk: to be awaited before the metadata store hears of it. */
  beginLife(life: number): Promise<void> {
    this.#life = life;
    return this.#write();
  }

  origins(): ReadonlyMap<ReplicaId, Origin> {
    return this.#origins;
  }

  /** File, offset and what is wrong there; undefined for a replica that is sound. */
  damage(replica: ReplicaId): string | undefined {
    return this.#damages.get(replica);
  }

  /** Resolves when they are on disk: to be awaited before the replicas are made. */
  async addOrigins(origins: ReadonlyMap<ReplicaId, Origin>): Promise<void> {
    if (origins.size === 0) return;
    for (const [replica, origin] of origins) this.#origins.set(replica, origin);
    await this.#write();
  }

  /** Resolves when it is on disk. */
  addDamage(replica: ReplicaId, reason: string): Promise<void> {
    if (!this.#damages.has(replica)) this.#damages.set(replica, reason);
    return this.#write();
  }

  /**
   * True once it is on disk that the replica may have promised its vote (`raft/lease.ts`): before
   * that it promises nothing, and after a restart it need not wait for what it cannot have promised.
   */
  mayPromise(replica: ReplicaId): boolean {
    return this.#mayPromise.has(replica);
  }

  /** Resolves when it is on disk: from then on they may promise. */
  async addPromising(replicas: readonly ReplicaId[]): Promise<void> {
    const added = replicas.filter((replica) => !this.#mayPromise.has(replica));
    if (added.length === 0) return;
    for (const replica of added) this.#promised.add(replica);
    await this.#write();
    for (const replica of added) if (this.#promised.has(replica)) this.#mayPromise.add(replica);
  }

  /** Nothing of the replicas is left. */
  async forget(replicas: readonly ReplicaId[]): Promise<void> {
    let known = false;
    for (const replica of replicas) {
      known = this.#origins.delete(replica) || known;
      known = this.#damages.delete(replica) || known;
      known = this.#promised.delete(replica) || known;
      this.#mayPromise.delete(replica);
    }
    if (known) await this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing
      .catch(() => {})
      .then(() => {
        this.#logSeq = Math.max(this.#logSeq, this.#log.durableSeq);
        const notes: Notes = {
          version: VERSION,
          incarnation: this.#incarnation,
          origins: [...this.#origins],
          damages: [...this.#damages],
          promised: [...this.#promised],
          ...(this.#life !== undefined && { life: this.#life }),
          ...(this.#logSeq > 0 && { logSeq: this.#logSeq }),
        };
        return writeChecked(this.#disk, this.#path, notes);
      });
    return this.#writing;
  }
}
