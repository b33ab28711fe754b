/**
 * The cluster as the metadata store shows it, folded from watch events; pure. Partitions count
 * only once their namespace is ready: a half-written one may still be written anew. A record that
 * cannot be read, or a table with a gap, changes nothing: what was last read stays, and the problem
 * is told.
 */
import { messageOf } from '../../common/errors.ts';
import { SLOT_COUNT } from '../../common/hash.ts';
import type { GroupId, Namespace, NodeId, Revision } from '../../common/ids.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../meta/records.ts';
import {
  type DeletedRecord,
  keys,
  type LeaderRecord,
  type Membership,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
  type SettingRecord,
  type UserRecord,
} from '../../meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../meta/store.ts';

export const IMAGE_VERSION = 1;

/** What is kept on disk, so that a node serves while the store is away (decision 16). */
export interface ClusterImage {
  readonly version: number;
  readonly nodes: readonly NodeRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  readonly partitions: readonly PartitionRecord[];
  readonly leaders: readonly LeaderRecord[];
  /** Absent in what an older build wrote: then it is not known whether there are any. */
  readonly users?: readonly UserRecord[];
  /** Not in pictures of earlier builds. */
  readonly settings?: readonly SettingRecord[];
  /** What a datanode has no use for: `kvorum meta restore` has. Key → value. */
  readonly kept?: Readonly<Record<string, string>>;
  /** The store that told all this, and when in its history; absent when no list has come yet. */
  readonly store?: { readonly id?: string; readonly revision: Revision };
  /** Not in pictures of earlier builds. */
  readonly deletions?: readonly DeletedRecord[];
}

/** Records that nobody could make anew if the metadata store were lost. */
const KEPT = [
  keys.cluster,
  keys.counters,
  keys.control,
  keys.incarnations,
  keys.nodeStates,
  keys.damages,
  keys.banned,
];

/** Which parts of the view a set of events changed. */
export interface ViewChange {
  readonly nodes: boolean;
  readonly table: boolean;
  readonly leaders: boolean;
  readonly users: boolean;
  readonly settings: boolean;
  /** What is only kept. */
  readonly kept: boolean;
}

const nothingChanged = {
  ...{ nodes: false, table: false, leaders: false, users: false, settings: false, kept: false },
};

export const everythingChanged: ViewChange = {
  ...{ nodes: true, table: true, leaders: true, users: true, settings: true, kept: true },
};

export class ClusterView {
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #namespaces = new Map<string, NamespaceRecord>();
  readonly #partitions = new Map<string, PartitionRecord>();
  readonly #leaders = new Map<string, LeaderRecord>();
  readonly #users = new Map<string, UserRecord>();
  #usersKnown = false;
  readonly #settings = new Map<string, SettingRecord>();
  readonly #kept = new Map<string, string>();
  #store: ClusterImage['store'];
  readonly #deletions = new Map<string, DeletedRecord>();
  /**
   * Addresses outlive the lease: a node that is away may come back to the same place. Not the state
   * that the master keeps of a node, which goes when it has been away for long and holds nothing:
   * else all nodes would dial, for ever, whatever ever was one.
   */
  readonly #addresses = new Map<NodeId, NodeRecord>();
  /** The last table of each namespace that had every key. */
  readonly #tables = new Map<Namespace, readonly PartitionRecord[]>();
  readonly #onProblem: (problem: string) => void;

  constructor(onProblem: (problem: string) => void = () => {}) {
    this.#onProblem = onProblem;
  }

  static fromImage(image: ClusterImage, onProblem?: (problem: string) => void): ClusterView {
    const view = new ClusterView(onProblem);
    for (const node of image.nodes) view.#addresses.set(node.node, node);
    for (const record of image.namespaces)
      view.#namespaces.set(keys.namespace(record.name), record);
    for (const record of image.partitions) {
      view.#partitions.set(keys.partition(record.namespace, record.partition), record);
    }
    for (const record of image.leaders) {
      view.#leaders.set(keys.leader(record.namespace, record.partition), record);
    }
    for (const record of image.users ?? []) view.#users.set(keys.user(record.user), record);
    view.#usersKnown = image.users !== undefined;
    for (const record of image.settings ?? []) {
      view.#settings.set(keys.setting(record.name), record);
    }
    for (const [key, value] of Object.entries(image.kept ?? {})) view.#kept.set(key, value);
    view.#store = image.store;
    for (const record of image.deletions ?? []) {
      view.#deletions.set(keys.deletion(record.firstGroup), record);
    }
    view.#fold();
    return view;
  }

  image(): ClusterImage {
    return {
      version: IMAGE_VERSION,
      nodes: [...this.#addresses.values()],
      namespaces: [...this.#namespaces.values()],
      partitions: this.partitions(),
      leaders: [...this.#leaders.values()],
      ...(this.#usersKnown && { users: [...this.#users.values()] }),
      settings: [...this.#settings.values()],
      kept: Object.fromEntries(this.#kept),
      ...(this.#store && { store: this.#store }),
      deletions: this.deletions(),
    };
  }

  /** What was told last was as of `revision` of the store that calls itself `id`. */
  asOf(id: string | undefined, revision: Revision): void {
    this.#store = { ...(id !== undefined && { id }), revision };
  }

  list(items: readonly MetaItem[]): ViewChange {
    const present = new Set(items.map((item) => item.key));
    for (const map of this.#maps()) {
      for (const key of map.keys()) if (!present.has(key)) map.delete(key);
    }
    for (const item of items) this.#put(item);
    for (const node of this.#addresses.keys()) this.#forgetAddress(node);
    this.#fold();
    this.#usersKnown = true;
    return everythingChanged;
  }

  apply(events: readonly MetaEvent[]): ViewChange {
    const changed = { ...nothingChanged };
    for (const event of events) {
      const key = event.type === 'put' ? event.item.key : event.key;
      const part = partOf(key);
      if (part !== undefined) changed[part] = true;
      if (event.type === 'put') this.#put(event.item);
      else for (const map of this.#maps()) map.delete(key);
      if (event.type === 'delete' && key.startsWith(keys.nodeStates)) {
        const forgotten = this.#forgetAddress(key.slice(keys.nodeStates.length));
        if (forgotten) changed.nodes = true;
      }
    }
    if (changed.table) this.#fold();
    return changed;
  }

  /** Last known records of all nodes, alive or not. */
  addresses(): ReadonlyMap<NodeId, NodeRecord> {
    return this.#addresses;
  }

  isAlive(node: NodeId): boolean {
    return this.nodeRecord(node) !== undefined;
  }

  /** As the node registered last; undefined when it is not alive. */
  nodeRecord(node: NodeId): NodeRecord | undefined {
    return this.#nodes.get(keys.node(node));
  }

  namespaces(): readonly NamespaceRecord[] {
    return [...this.#namespaces.values()].filter((record) => record.ready);
  }

  /** Namespaces whose reads are to be served under leases. */
  underLease(): ReadonlySet<Namespace> {
    const records = this.namespaces().filter(({ reads }) => reads === 'lease');
    return new Set(records.map(({ name }) => name));
  }

  /** Each namespace's whole, or none of it. */
  partitions(): readonly PartitionRecord[] {
    return [...this.#tables.values()].flat();
  }

  /** Groups that are gone for ever: their replicas are to be destroyed. */
  deletions(): readonly DeletedRecord[] {
    return [...this.#deletions.values()];
  }

  /** How many groups `node` leads, as far as the store has been told. */
  leads(node: NodeId): number {
    return this.wantedLeaders().filter(([, leader]) => leader.node === node).length;
  }

  /** Undefined until somebody has told: the store, or a picture of an earlier time. */
  users(): readonly UserRecord[] | undefined {
    return this.#usersKnown ? [...this.#users.values()] : undefined;
  }

  /** A setting of the whole cluster, if somebody has set it. */
  setting(name: string): string | undefined {
    return this.#settings.get(keys.setting(name))?.value;
  }

  /** What the groups' leaders reported, of the groups that are wanted. */
  memberships(): ReadonlyMap<GroupId, Membership> {
    return new Map(this.#reports().map(([group, { membership }]) => [group, membership]));
  }

  /** Of the groups that are wanted, but for those that lost their quorum. */
  wantedLeaders(): readonly (readonly [GroupId, LeaderRecord])[] {
    return this.#reports().filter(([, { resigned }]) => !resigned);
  }

  /** Of the groups that are wanted, those that nobody leads in the term that was told last. */
  resignedLeaders(): readonly (readonly [GroupId, LeaderRecord])[] {
    return this.#reports().filter(([, { resigned }]) => resigned);
  }

  /** Of the groups that are wanted: a report of another group tells nothing of these. */
  #reports(): readonly (readonly [GroupId, LeaderRecord])[] {
    const wanted: (readonly [GroupId, LeaderRecord])[] = [];
    for (const { namespace, partition, group } of this.partitions()) {
      const leader = this.#leaders.get(keys.leader(namespace, partition));
      // one without a group is an older build's
      if (leader !== undefined && (leader.group ?? group) === group) wanted.push([group, leader]);
    }
    return wanted;
  }

  /** Does nothing for a node that lives, has a state, or is to hold something. */
  #forgetAddress(node: NodeId): boolean {
    if (this.isAlive(node) || this.#kept.has(keys.nodeState(node))) return false;
    for (const { replicas } of this.#partitions.values()) {
      if (replicas.some((replica) => replica.node === node)) return false;
    }
    return this.#addresses.delete(node);
  }

  #put(item: MetaItem): void {
    const { key } = item;
    if (key.startsWith(keys.nodes)) {
      const record = this.#read(recordKinds.node, this.#nodes, item);
      if (record !== undefined) this.#addresses.set(record.node, record);
    } else if (key.startsWith(keys.namespaces)) {
      this.#read(recordKinds.namespace, this.#namespaces, item);
    } else if (key.startsWith(keys.partitions)) {
      this.#read(recordKinds.partition, this.#partitions, item);
    } else if (key.startsWith(keys.leaders)) {
      this.#read(recordKinds.leader, this.#leaders, item);
    } else if (key.startsWith(keys.users)) {
      this.#readUser(item);
    } else if (key.startsWith(keys.settings)) {
      this.#read(recordKinds.setting, this.#settings, item);
    } else if (key.startsWith(keys.deleted)) {
      this.#read(recordKinds.deleted, this.#deletions, item);
    } else if (isKept(key)) {
      this.#kept.set(key, item.value);
    }
  }

  /** A user that never could be read is there, without rights: none may be what somebody took away. */
  #readUser(item: MetaItem): void {
    const { key } = item;
    if (this.#read(recordKinds.user, this.#users, item) ?? this.#users.has(key)) return;
    const user = nameOf(key);
    if (user !== undefined) this.#users.set(key, { version: 1, user, rules: NO_RIGHTS });
  }

  #read<T>(kind: RecordKind<T>, into: Map<string, T>, { key, value }: MetaItem): T | undefined {
    try {
      const record = decodeRecord(kind, key, value);
      into.set(key, record);
      return record;
    } catch (failure) {
      this.#onProblem(messageOf(failure));
      return undefined;
    }
  }

  /** Routes need every key: a table with a gap is not taken over. */
  #fold(): void {
    const ready = new Map(this.namespaces().map((record) => [record.name, record]));
    for (const name of this.#tables.keys()) if (!ready.has(name)) this.#tables.delete(name);
    const found = new Map<Namespace, PartitionRecord[]>(
      [...ready.keys()].map((name) => [name, []]),
    );
    for (const record of this.#partitions.values()) found.get(record.namespace)?.push(record);
    for (const [name, records] of found) {
      records.sort((a, b) => a.partition - b.partition);
      const gap = gapOf(records, ready.get(name)!);
      if (gap === undefined) this.#tables.set(name, records);
      else this.#onProblem(`the table of namespace ${name} is not taken over: ${gap}`);
    }
  }

  #maps(): Map<string, unknown>[] {
    return [
      this.#nodes,
      this.#namespaces,
      this.#partitions,
      this.#leaders,
      this.#users,
      this.#settings,
      this.#kept,
      this.#deletions,
    ];
  }
}

const NO_RIGHTS = 'off resetchannels -@all';

function nameOf(key: string): string | undefined {
  try {
    return decodeURIComponent(key.slice(keys.users.length));
  } catch {
    return undefined;
  }
}

function isKept(key: string): boolean {
  return KEPT.some((prefix) => key.startsWith(prefix));
}

/** What a table (by number) lacks to give every key to one partition; undefined: nothing. */
function gapOf(
  records: readonly PartitionRecord[],
  { partitions: count, hash }: NamespaceRecord,
): string | undefined {
  for (let number = 0; number < count; number++) {
    if (records[number]?.partition !== number) return `partition ${number} has no readable record`;
  }
  if (records.length !== count) return `${records.length} partitions instead of ${count}`;
  const odd = records.find(({ murmur3 }) => murmur3?.modulo !== moduloOf(hash, count));
  if (odd !== undefined) return `partition ${odd.partition} deals keys out in another way`;
  if (hash === 'murmur3') return undefined;
  let next = 0;
  for (const record of [...records].sort((a, b) => a.firstSlot - b.firstSlot)) {
    const { partition, firstSlot } = record;
    if (firstSlot > next) return `no partition has slot ${next}`;
    if (firstSlot < next) return `partition ${partition} has slot ${firstSlot} as another has`;
    next = record.lastSlot + 1;
  }
  return next === SLOT_COUNT ? undefined : `no partition has slot ${next}`;
}

function moduloOf(hash: NamespaceRecord['hash'], partitions: number): number | undefined {
  return hash === 'murmur3' ? partitions : undefined;
}

function partOf(key: string): keyof ViewChange | undefined {
  if (key.startsWith(keys.nodes)) return 'nodes';
  if (key.startsWith(keys.namespaces) || key.startsWith(keys.partitions)) return 'table';
  if (key.startsWith(keys.deleted)) return 'table';
  if (key.startsWith(keys.leaders)) return 'leaders';
  if (key.startsWith(keys.users)) return 'users';
  if (key.startsWith(keys.settings)) return 'settings';
  return isKept(key) ? 'kept' : undefined;
}
