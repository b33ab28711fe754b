/**
 * The embedded store's state machine: keys with revisions, bounded history, leases. Pure: commands
 * in, results out; no disk, time or sockets, so that it can be replicated later. A command that
 * throws a StateError has changed nothing. Leases have no deadlines here: whoever runs the machine
 * watches the clock and revokes (`lease-clock.ts`).
 */
import { limits } from '../../common/limits.ts';
import { History } from './history.ts';
import { KeySpace, keyText } from './key-space.ts';
import type {
  CompactRequest,
  CompareMessage,
  DeleteRequest,
  DeleteResponse,
  Header,
  KeyValue,
  LeaseGrantRequest,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
  RequestOp,
  ResponseOp,
  TxnRequest,
  TxnResponse,
} from './messages.ts';
import { StateError } from './state-error.ts';
import { checkKey, checkPutKeys, checkTxn } from './txn-check.ts';
import { checkTxnReads } from './txn-reads.ts';

export interface LeaseState {
  readonly id: number;
  readonly ttlSeconds: number;
  readonly keys: Set<string>;
}

/** What a snapshot holds; history is not part of it. */
export interface StateImage {
  readonly clusterId: number;
  readonly revision: number;
  readonly compactRevision: number;
  readonly nextLease: number;
  readonly leases: readonly { readonly id: number; readonly ttlSeconds: number }[];
  readonly items: readonly KeyValue[];
}

/** Lease ids we count up; larger ones were chosen by clients. */
const COUNTED_LEASES = 2 ** 44;

/**
 * A store that holds nothing; etcd's first revision is 1. Lease ids start at a place of this
 * store's own, so that a holder from before a wipe does not keep a stranger's lease alive.
 */
export function emptyImage(clusterId: number): StateImage {
  const nextLease = (clusterId % 2 ** 20) * 2 ** 20 + 1;
  return { clusterId, revision: 1, compactRevision: 0, nextLease, leases: [], items: [] };
}

export class StoreState {
  readonly clusterId: number;
  readonly history: History;
  readonly #keys = new KeySpace();
  readonly #leases = new Map<number, LeaseState>();
  #revision: number;
  #compactRevision: number;
  #nextLease: number;

  constructor(image: StateImage) {
    this.clusterId = image.clusterId;
    this.#revision = image.revision;
    this.#compactRevision = image.compactRevision;
    this.#nextLease = image.nextLease;
    this.history = new History(image.revision + 1);
    for (const { id, ttlSeconds } of image.leases) {
      this.#leases.set(id, { id, ttlSeconds, keys: new Set() });
    }
    for (const item of image.items) {
      this.#keys.set(item);
      this.#leases.get(item.lease)?.keys.add(keyText(item.key));
    }
  }

  get revision(): number {
    return this.#revision;
  }

  get bytes(): number {
    return this.#keys.bytes;
  }

  get leases(): ReadonlyMap<number, LeaseState> {
    return this.#leases;
  }

  image(): StateImage {
    return {
      clusterId: this.clusterId,
      revision: this.#revision,
      compactRevision: this.#compactRevision,
      nextLease: this.#nextLease,
      leases: [...this.#leases.values()].map(({ id, ttlSeconds }) => ({ id, ttlSeconds })),
      items: [...this.#keys.all()],
    };
  }

  range(request: RangeRequest): RangeResponse {
    this.#checkRange(request);
    return this.#range(request);
  }

  put(request: PutRequest): PutResponse {
    this.#checkPut(request);
    return this.#write((revision) => this.#put(request, revision));
  }

  delete(request: DeleteRequest): DeleteResponse {
    checkKey(request.key);
    return this.#write((revision) => this.#delete(request, revision));
  }

  transaction(request: TxnRequest): TxnResponse {
    checkTxn(request);
    const succeeded = request.compare.every((compare) => this.#holds(compare));
    const operations = succeeded ? request.success : request.failure;
    for (const { put, range } of operations) {
      if (put) this.#checkPut(put);
      if (range) this.#checkRange(range);
    }
    const reads = operations.flatMap(({ range }) => range ?? []);
    checkTxnReads(reads, this.#keys, this.history.length);
    const responses = this.#write((revision) =>
      operations.map((operation) => this.#operate(operation, revision)),
    );
    return { succeeded, responses };
  }

  compact({ revision }: CompactRequest): void {
    if (revision <= this.#compactRevision) throw new StateError('compacted');
    if (revision > this.#revision) throw new StateError('future-revision');
    this.#compactRevision = revision;
    this.history.compact(revision);
  }

  /** The id the next grant without one should use. */
  freeLease(): number {
    let id = this.#nextLease;
    while (this.#leases.has(id)) id++;
    return id;
  }

  grantLease({ id, ttl }: LeaseGrantRequest): void {
    // a snapshot has no room for the sign
    if (id < 0) throw new StateError('bad-lease');
    if (ttl < 1 || ttl > limits.metaLeaseSecondsMax) throw new StateError('bad-ttl');
    if (this.#leases.has(id)) throw new StateError('lease-exists');
    if (this.#leases.size >= limits.metaLeasesMax) throw new StateError('no-space');
    this.#leases.set(id, { id, ttlSeconds: ttl, keys: new Set() });
    if (id < COUNTED_LEASES) this.#nextLease = Math.max(this.#nextLease, id + 1);
  }

  /** Removes the lease and, in one revision, its keys. */
  revokeLease(id: number): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) throw new StateError('no-lease');
    const keys = [...lease.keys].sort();
    this.#write((revision) => {
      for (const key of keys) this.#remove(key, revision);
    });
    this.#leases.delete(id);
  }

  /** Runs changes at the next revision, which is taken only if something changed. */
  #write<T>(run: (revision: number) => T): T {
    const before = this.history.length;
    const result = run(this.#revision + 1);
    if (this.history.length > before) {
      this.#revision++;
      this.history.trim();
      this.#compactRevision = Math.max(this.#compactRevision, this.history.from - 1);
    }
    return result;
  }

  #operate(operation: RequestOp, revision: number): ResponseOp {
    const { put, delete: removal, range } = operation;
    if (put) return { put: { ...this.#put(put, revision), header: atRevision(revision) } };
    if (!removal && !range) throw new StateError('bad-operation');
    const answer = removal ? this.#delete(removal, revision) : this.#range(range!);
    // a read sees what the same transaction has changed before it
    const reached = this.history.newest === revision ? revision : revision - 1;
    const told = { ...answer, header: atRevision(reached) };
    return 'deleted' in told ? { delete: told } : { range: told };
  }

  #checkPut(request: PutRequest): void {
    checkPutKeys(request);
    if (request.lease !== 0 && !request.ignoreLease && !this.#leases.has(request.lease)) {
      throw new StateError('no-lease');
    }
    const known = this.#keys.get(keyText(request.key));
    if ((request.ignoreValue || request.ignoreLease) && !known) throw new StateError('no-key');
    const growth = request.key.length + request.value.length;
    if (this.#keys.bytes + growth > limits.metaDataBytesMax) throw new StateError('no-space');
  }

  #put(request: PutRequest, revision: number): PutResponse {
    const key = keyText(request.key);
    const prevKv = this.#keys.get(key);
    const kv: KeyValue = {
      key: request.key,
      createRevision: prevKv?.createRevision ?? revision,
      modRevision: revision,
      version: (prevKv?.version ?? 0) + 1,
      value: request.ignoreValue ? prevKv!.value : request.value,
      lease: request.ignoreLease ? prevKv!.lease : request.lease,
    };
    if (prevKv) this.#leases.get(prevKv.lease)?.keys.delete(key);
    this.#leases.get(kv.lease)?.keys.add(key);
    this.#keys.set(kv);
    this.history.push({ revision, type: 'put', kv, prevKv });
    return request.prevKv ? { prevKv } : {};
  }

  #delete(request: DeleteRequest, revision: number): DeleteResponse {
    const removed = [...this.#keys.range(request.key, request.rangeEnd)];
    for (const { key } of removed) this.#remove(keyText(key), revision);
    return { deleted: removed.length, prevKvs: request.prevKv ? removed : [] };
  }

  #remove(key: string, revision: number): void {
    const prevKv = this.#keys.delete(key);
    if (prevKv === undefined) return;
    this.#leases.get(prevKv.lease)?.keys.delete(key);
    const gone = { createRevision: 0, version: 0, value: Buffer.alloc(0), lease: 0 };
    const kv: KeyValue = { ...gone, key: prevKv.key, modRevision: revision };
    this.history.push({ revision, type: 'delete', kv, prevKv });
  }

  #checkRange({ key, revision }: RangeRequest): void {
    checkKey(key);
    if (revision > this.#revision) throw new StateError('future-revision');
    if (revision > 0 && revision < Math.max(this.#compactRevision, this.history.from - 1)) {
      throw new StateError('compacted');
    }
  }

  #range(request: RangeRequest): RangeResponse {
    let items = [...this.#keys.range(request.key, request.rangeEnd)];
    if (request.revision > 0 && request.revision < this.#revision) {
      items = this.#past(request, items);
    }
    const count = items.length;
    items = items.filter((item) => withinRevisions(request, item));
    if (request.countOnly) return { kvs: [], more: false, count };
    order(request, items);
    const more = request.limit > 0 && items.length > request.limit;
    if (more) items.length = request.limit;
    const empty = Buffer.alloc(0);
    const kvs = request.keysOnly ? items.map((item) => ({ ...item, value: empty })) : items;
    return { kvs, more, count };
  }

  /** The range as it was: newest events first, each undone. */
  #past({ key, rangeEnd, revision }: RangeRequest, items: readonly KeyValue[]): KeyValue[] {
    const space = new KeySpace();
    for (const item of items) space.set(item);
    for (const { kv, prevKv } of this.history.undo(revision)) {
      if (prevKv) space.set(prevKv);
      else space.delete(keyText(kv.key));
    }
    return [...space.range(key, rangeEnd)];
  }

  /** Over a range for each of its keys; where there is none, for one that was never written. */
  #holds(compare: CompareMessage): boolean {
    const found = [...this.#keys.range(compare.key, compare.rangeEnd)];
    if (found.length > 0) return found.every((kv) => test(compare, kv));
    // a value that is missing is told from an empty one by nothing on the wire
    return compare.target !== 3 && test(compare, absent);
  }
}

/** Of an answer within a transaction's, which says the revision alone: clients read of the past by it. */
function atRevision(revision: number): Header {
  return { clusterId: 0, memberId: 0, revision, raftTerm: 0 };
}

const absent: KeyValue = {
  key: Buffer.alloc(0),
  createRevision: 0,
  modRevision: 0,
  version: 0,
  value: Buffer.alloc(0),
  lease: 0,
};

function test(compare: CompareMessage, kv: KeyValue): boolean {
  const order = orderOf(compare, kv);
  if (compare.result === 0) return order === 0;
  if (compare.result === 1) return order > 0;
  return compare.result === 2 ? order < 0 : order !== 0;
}

function orderOf(compare: CompareMessage, kv: KeyValue): number {
  switch (compare.target) {
    case 0:
      return kv.version - compare.version;
    case 1:
      return kv.createRevision - compare.createRevision;
    case 2:
      return kv.modRevision - compare.modRevision;
    case 3:
      return Buffer.compare(kv.value, compare.value);
    default:
      return kv.lease - compare.lease;
  }
}

function withinRevisions(request: RangeRequest, item: KeyValue): boolean {
  const within = (value: number, least: number, most: number) =>
    (least === 0 || value >= least) && (most === 0 || value <= most);
  return (
    within(item.modRevision, request.minModRevision, request.maxModRevision) &&
    within(item.createRevision, request.minCreateRevision, request.maxCreateRevision)
  );
}

const orders = [
  (a: KeyValue, b: KeyValue) => Buffer.compare(a.key, b.key),
  (a: KeyValue, b: KeyValue) => a.version - b.version,
  (a: KeyValue, b: KeyValue) => a.createRevision - b.createRevision,
  (a: KeyValue, b: KeyValue) => a.modRevision - b.modRevision,
  (a: KeyValue, b: KeyValue) => Buffer.compare(a.value, b.value),
];

function order({ sortOrder, sortTarget }: RangeRequest, items: KeyValue[]): void {
  const compare = orders[sortTarget];
  if (compare === undefined || (sortTarget === 0 && sortOrder !== 2)) return;
  items.sort((a, b) => (sortOrder === 2 ? compare(b, a) : compare(a, b)));
}
