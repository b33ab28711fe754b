/**
 * The metadata store as a placedriver sees it: records by key, folded from watch events. A record
 * that cannot be read is told as a problem, and what was last read stays; but nothing that the
 * master itself writes is decided on it.
 */
import { messageOf } from '../common/errors.ts';
import type { Incarnation, Namespace, NodeId, Revision } from '../common/ids.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../meta/records.ts';
import {
  type BannedRecord,
  type ControlRecord,
  type DamageRecord,
  type DeletedRecord,
  type IncarnationRecord,
  keys,
  type LeaderRecord,
  type LoadRecord,
  type NamespaceRecord,
  type NodeRecord,
  type NodeStateRecord,
  type PartitionRecord,
  type PlacedriverRecord,
} from '../meta/schema.ts';
import type { MetaEvent, MetaItem } from '../meta/store.ts';

export interface StoredPartition {
  readonly record: PartitionRecord;
  readonly modRevision: Revision;
}

/** `readable`: the record is the newest; otherwise it is what was read before. */
export interface Stored<T> {
  readonly record: T;
  readonly modRevision: Revision;
  readonly readable: boolean;
}

/** What another picture of the same store has read at `key`; undefined: nothing. */
export type KnownRecords = (key: string) => Stored<unknown> | undefined;

/** The records of one kind. */
class Shelf<T> {
  readonly #kind: RecordKind<T>;
  readonly #known: KnownRecords;
  readonly #records = new Map<string, Stored<T>>();
  /** What lies there now cannot be read, whatever was read before. */
  readonly unreadable = new Set<string>();

  constructor(kind: RecordKind<T>, known: KnownRecords) {
    this.#kind = kind;
    this.#known = known;
  }

  /**
   * Throws BAD_RECORD; what was there stays, or what the other picture has read of it. A key has one
   * value at a revision: what was read of it before, here or there, is not read again.
   */
  put({ key, value, modRevision }: MetaItem): void {
    const known = this.#records.get(key);
    const read = [known, this.#known(key)].find(
      (one) => one?.modRevision === modRevision && one.readable,
    );
    if (read !== undefined) {
      this.#records.set(key, read as Stored<T>);
      this.unreadable.delete(key);
      return;
    }
    const before = known ?? (this.#known(key) as Stored<T> | undefined);
    if (before !== undefined) this.#records.set(key, { ...before, readable: false });
    this.unreadable.add(key);
    const record = decodeRecord(this.#kind, key, value);
    this.#records.set(key, { record, modRevision, readable: true });
    this.unreadable.delete(key);
  }

  delete(key: string): void {
    this.#records.delete(key);
    this.unreadable.delete(key);
  }

  retain(present: ReadonlySet<string>): void {
    for (const key of [...this.#records.keys(), ...this.unreadable]) {
      if (!present.has(key)) this.delete(key);
    }
  }

  get(key: string): T | undefined {
    return this.#records.get(key)?.record;
  }

  stored(key: string): Stored<T> | undefined {
    return this.#records.get(key);
  }

  all(): T[] {
    return [...this.#records.values()].map(({ record }) => record);
  }

  newest(): Stored<T>[] {
    return [...this.#records.values()].filter(({ readable }) => readable);
  }
}

export class Picture {
  readonly #known: KnownRecords = (key) => this.#other?.(key);
  readonly #nodes = new Shelf<NodeRecord>(recordKinds.node, this.#known);
  readonly #incarnations = new Shelf<IncarnationRecord>(recordKinds.incarnation, this.#known);
  readonly #namespaces = new Shelf<NamespaceRecord>(recordKinds.namespace, this.#known);
  readonly #partitions = new Shelf<PartitionRecord>(recordKinds.partition, this.#known);
  readonly #leaders = new Shelf<LeaderRecord>(recordKinds.leader, this.#known);
  readonly #damages = new Shelf<DamageRecord>(recordKinds.damage, this.#known);
  readonly #loads = new Shelf<LoadRecord>(recordKinds.load, this.#known);
  readonly #nodeStates = new Shelf<NodeStateRecord>(recordKinds.nodeState, this.#known);
  readonly #control = new Shelf<ControlRecord>(recordKinds.control, this.#known);
  readonly #placedrivers = new Shelf<PlacedriverRecord>(recordKinds.placedriver, this.#known);
  readonly #banned = new Shelf<BannedRecord>(recordKinds.banned, this.#known);
  readonly #deleted = new Shelf<DeletedRecord>(recordKinds.deleted, this.#known);
  readonly #shelves: readonly (readonly [prefix: string, Shelf<unknown>])[] = [
    [keys.nodes, this.#nodes],
    [keys.incarnations, this.#incarnations],
    [keys.namespaces, this.#namespaces],
    [keys.partitions, this.#partitions],
    [keys.leaders, this.#leaders],
    [keys.damages, this.#damages],
    [keys.loads, this.#loads],
    [keys.nodeStates, this.#nodeStates],
    [keys.control, this.#control],
    [keys.placedrivers, this.#placedrivers],
    [keys.banned, this.#banned],
    [keys.deleted, this.#deleted],
  ];
  readonly #onProblem: (problem: string) => void;
  readonly #other: KnownRecords | undefined;
  /** Written by this master, and not told by the watch yet: key → revision. */
  readonly #written = new Map<string, Revision>();
  /** Everything up to this revision has been told. */
  #told: Revision = 0;
  #writes = 0;

  /** `other`: what may have been read already, by another picture of the same store. */
  constructor(onProblem: (problem: string) => void = () => {}, other?: KnownRecords) {
    this.#onProblem = onProblem;
    this.#other = other;
  }

  /** `revision`: of the store, as it was listed; to be said where something is expected. */
  list(items: readonly MetaItem[], revision: Revision = 0): void {
    const present = new Set(items.map(({ key }) => key));
    for (const [, shelf] of this.#shelves) shelf.retain(present);
    for (const item of items) this.#put(item);
    this.#reached(revision);
  }

  /** Changes after the last list, in order; where something is expected, of whole revisions. */
  apply(events: readonly MetaEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') this.#put(event.item);
      else this.#shelfOf(event.key)?.delete(event.key);
    }
    const newest = events.at(-1);
    if (newest === undefined) return;
    this.#reached(newest.type === 'put' ? newest.item.modRevision : newest.modRevision);
  }

  /** What is kept at `key`, of whatever kind; undefined: nothing, or nothing that is looked at. */
  kept(key: string): Stored<unknown> | undefined {
    return this.#shelfOf(key)?.stored(key);
  }

  /** Grows whenever this master has written something. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * This master has written `key`: until the watch has told that revision, `isBehind`. It may have
   * told it already, and that somebody else removed the record since.
   */
  expect(key: string, revision: Revision): void {
    this.#writes++;
    if (this.#told < revision) this.#written.set(key, revision);
  }

  /** What is known of `key` is older than what this master wrote there. */
  awaits(key: string): boolean {
    return this.#written.has(key);
  }

  /** What is counted here may lack what this master wrote last. */
  get isBehind(): boolean {
    return this.#written.size > 0;
  }

  /** The namespace's record, or what was last read of it. */
  namespace(name: Namespace): NamespaceRecord | undefined {
    return this.#namespaces.get(keys.namespace(name));
  }

  /** The registered ones: their leases hold. */
  aliveNodes(): NodeRecord[] {
    return this.#nodes.all();
  }

  /** As `aliveNodes`. */
  aliveNode(node: NodeId): NodeRecord | undefined {
    return this.#nodes.get(keys.node(node));
  }

  /** Whom a name belongs to, alive or not. */
  incarnation(node: NodeId): Incarnation | undefined {
    return this.#incarnations.get(keys.incarnation(node))?.incarnation;
  }

  /** Those that can be read: of another the master cannot know what it would write over. */
  partitions(): StoredPartition[] {
    return this.#partitions.newest();
  }

  /** What is shown: of those that cannot be read, what was last read; nothing is decided on it. */
  shownPartitions(): PartitionRecord[] {
    return this.#partitions.all();
  }

  /** Of the record's group. */
  leader(record: PartitionRecord): LeaderRecord | undefined {
    return this.storedLeader(record)?.record;
  }

  /** The same, unless it lost its quorum, or its node is away: then nobody is known to lead. */
  leading(record: PartitionRecord): LeaderRecord | undefined {
    const leader = this.leader(record);
    if (leader === undefined || leader.resigned) return undefined;
    return this.aliveNode(leader.node) && leader;
  }

  /** As its leader told last, of whatever term. */
  storedLeader({ namespace, partition, group }: PartitionRecord): Stored<LeaderRecord> | undefined {
    const leader = this.#leaders.stored(keys.leader(namespace, partition));
    return (leader?.record.group ?? group) === group ? leader : undefined;
  }

  leaders(): Stored<LeaderRecord>[] {
    return this.#leaders.newest();
  }

  /** Also those being made or deleted. */
  namespaces(): NamespaceRecord[] {
    return this.#namespaces.all();
  }

  storedNamespace(name: Namespace): Stored<NamespaceRecord> | undefined {
    return this.#namespaces.stored(keys.namespace(name));
  }

  nodeStates(): Stored<NodeStateRecord>[] {
    return this.#nodeStates.newest();
  }

  /** As `nodeStates`. */
  nodeState(node: NodeId): NodeStateRecord | undefined {
    const stored = this.#nodeStates.stored(keys.nodeState(node));
    return stored?.readable ? stored.record : undefined;
  }

  /** Undefined until a master has written it; `readable` false: nothing is decided on it. */
  control(): Stored<ControlRecord> | undefined {
    return this.#control.stored(keys.control);
  }

  load(node: NodeId): LoadRecord | undefined {
    return this.#loads.get(keys.load(node));
  }

  placedrivers(): PlacedriverRecord[] {
    return this.#placedrivers.all();
  }

  banned(): BannedRecord[] {
    return this.#banned.all();
  }

  deletions(): DeletedRecord[] {
    return this.#deleted.all();
  }

  damages(): DamageRecord[] {
    return this.#damages.all();
  }

  /** Keys below `prefix`, one of `keys`, where something lies that cannot be read. */
  unreadable(prefix: string): ReadonlySet<string> {
    return this.#shelfOf(prefix)?.unreadable ?? new Set();
  }

  #reached(revision: Revision): void {
    this.#told = revision;
    for (const [key, written] of this.#written) {
      if (written <= revision) this.#written.delete(key);
    }
  }

  #put(item: MetaItem): void {
    try {
      this.#shelfOf(item.key)?.put(item);
    } catch (failure) {
      this.#onProblem(messageOf(failure));
    }
  }

  #shelfOf(key: string): Shelf<unknown> | undefined {
    return this.#shelves.find(([prefix]) => key.startsWith(prefix))?.[1];
  }
}
