/** What tests of the raft log append, and the model that says what the log must then hold. */
import type { Random } from '../../../src/common/random.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import type { LogAppend, RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';

export function entry(index: number, term: number, data = `${term}/${index}`): Entry {
  return { term, index, kind: 'normal', data: Buffer.from(data) };
}

export function entryRange(from: number, to: number, term: number): Entry[] {
  const entries: Entry[] = [];
  for (let index = from; index <= to; index++) entries.push(entry(index, term));
  return entries;
}

export function reset(index: number, term: number, generation: number) {
  return { base: { index, term }, generation };
}

interface ReplicaModel {
  generation: number;
  hardState: { term: number; vote: number; commit: number };
  base: { index: number; term: number };
  /** Term and data of the entries after base. */
  entries: [number, string][];
}

/** What the log should hold, kept as simply as possible. */
export class LogModel {
  readonly replicas = new Map<number, ReplicaModel>();
  readonly tombstones = new Set<number>();

  apply(part: LogAppend): void {
    const { replica: id, reset: start } = part;
    if (start !== undefined) {
      const old = this.replicas.get(id)?.hardState ?? { term: 0, vote: 0, commit: 0 };
      const hardState = { ...old, commit: Math.max(old.commit, start.base.index) };
      const { base, generation } = start;
      this.replicas.set(id, { generation, hardState, base, entries: [] });
    }
    const replica = this.replicas.get(id);
    if (replica !== undefined) applyToReplica(replica, part);
    if (part.tombstone) {
      this.replicas.delete(id);
      this.tombstones.add(id);
    }
  }

  digest(): string {
    const replicas = [...this.replicas].sort(([a], [b]) => a - b);
    return JSON.stringify({ replicas, tombstones: [...this.tombstones].sort((a, b) => a - b) });
  }

  static parse(digest: string): LogModel {
    const model = new LogModel();
    const { replicas, tombstones } = JSON.parse(digest);
    for (const [id, replica] of replicas) model.replicas.set(id, replica);
    for (const id of tombstones) model.tombstones.add(id);
    return model;
  }
}

function applyToReplica(replica: ReplicaModel, part: LogAppend): void {
  const first = part.entries?.[0];
  if (first !== undefined) replica.entries.length = first.index - replica.base.index - 1;
  for (const { term, data } of part.entries ?? []) {
    replica.entries.push([term, Buffer.from(data).toString('latin1')]);
  }
  if (part.hardState) replica.hardState = { ...part.hardState };
  if (part.compact && part.compact.index > replica.base.index) {
    replica.entries.splice(0, part.compact.index - replica.base.index);
    replica.base = part.compact;
  }
}

/** The digest of what a log answers, read entry by entry through its public face. */
export function digestOf(log: RaftLog): string {
  const model = new LogModel();
  for (const id of [...log.replicas()].sort((a, b) => a - b)) {
    const replica = log.replica(id)!;
    const [from, to] = [replica.firstIndex(), replica.lastIndex() + 1];
    const entries: [number, string][] = [];
    let dataBytes = 0;
    const held = replica.entries(from, to, Number.MAX_SAFE_INTEGER);
    if (held === 'compacted') throw new Error('its own first index is compacted');
    for (const one of held) {
      if (one.index !== from + entries.length) throw new Error(`entry ${one.index} out of place`);
      if (replica.term(one.index) !== one.term) throw new Error(`term of ${one.index} differs`);
      entries.push([one.term, Buffer.from(one.data).toString('latin1')]);
      dataBytes += one.data.length;
    }
    if (entries.length !== to - from) throw new Error('entries are missing');
    if (dataBytes !== replica.dataBytes) throw new Error('dataBytes is wrong');
    const { generation, hardState, base } = replica;
    model.replicas.set(id, { generation, hardState: { ...hardState }, base: { ...base }, entries });
  }
  for (let id = 1; id <= 64; id++) if (log.isTombstone(id)) model.tombstones.add(id);
  return model.digest();
}

const REPLICA_IDS = 8;

/** A part the log must accept in the model's state; replicas up to `cold` rarely get one. */
export function randomPart(model: LogModel, random: Random, cold: number): LogAppend {
  let replica = 1 + random.below(REPLICA_IDS);
  while (replica <= cold && model.replicas.has(replica) && random.below(20) > 0) {
    replica = 1 + random.below(REPLICA_IDS);
  }
  while (model.tombstones.has(replica)) replica += REPLICA_IDS;
  const known = model.replicas.get(replica);
  if (known === undefined) {
    if (random.below(20) === 0) return { replica, tombstone: true };
    const base = random.below(2) === 0 ? { index: 0, term: 0 } : { index: 10, term: 2 };
    return { replica, reset: { base, generation: 1 }, hardState: { term: 2, vote: 0, commit: 10 } };
  }
  const last = known.base.index + known.entries.length;
  const term = known.hardState.term;
  switch (random.below(12)) {
    case 0:
      return { replica, compact: randomCompaction(known, random) };
    case 1: {
      const commit = Math.max(known.hardState.commit, last);
      return { replica, hardState: { term: term + 1, vote: random.below(3), commit } };
    }
    case 2: {
      if (random.below(4) > 0) return { replica, compact: randomCompaction(known, random) };
      const base = { index: last + random.below(20), term };
      const commit = Math.max(known.hardState.commit, base.index);
      const hardState = { ...known.hardState, commit };
      return { replica, reset: { base, generation: known.generation + 1 }, hardState };
    }
    case 3:
      if (random.below(10) === 0) return { replica, tombstone: true };
      return { replica, entries: randomEntries(known, last + 1, random) };
    case 4: {
      const from = known.base.index + 1 + random.below(known.entries.length + 1);
      return { replica, entries: randomEntries(known, from, random) };
    }
    default: {
      const entries = randomEntries(known, last + 1, random);
      const top = entries.at(-1)?.term ?? term;
      const vote = top > term ? 0 : known.hardState.vote;
      const commit = Math.max(known.hardState.commit, last);
      return { replica, entries, hardState: { term: top, vote, commit } };
    }
  }
}

function randomEntries(known: ReplicaModel, from: number, random: Random): Entry[] {
  const before = known.entries[from - known.base.index - 2]?.[0] ?? known.base.term;
  const term = Math.max(before, known.hardState.term + (random.below(8) === 0 ? 1 : 0));
  const entries: Entry[] = [];
  const count = 1 + random.below(5);
  for (let i = 0; i < count; i++) {
    const size = random.below(30) === 0 ? random.below(12_000) : random.below(400);
    const data = Buffer.alloc(size, `${term}.${from + i}.${random.u32()} `);
    const kind = (['normal', 'confChange', 'confChangeV2'] as const)[random.below(3)]!;
    entries.push({ term, index: from + i, kind, data });
  }
  return entries;
}

function randomCompaction(known: ReplicaModel, random: Random) {
  const count = random.below(known.entries.length + 1);
  if (count === 0) return known.base;
  return { index: known.base.index + count, term: known.entries[count - 1]![0] };
}
