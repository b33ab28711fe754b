/**
 * What the log knows: its replicas and tombstones. Appends and replay change it by the same
 * records; a checkpoint writes it whole, and replay compares every checkpoint with what it has.
 */
import { must } from '../../common/assert.ts';
import type { ReplicaId } from '../../common/ids.ts';
import type { Batch } from './batch.ts';
import { ENTRY_HEADER_BYTES, type LogRecord, type ReplicaCheckpoint } from './format.ts';
import { NOWHERE, type ReplicaHost, ReplicaState } from './replica-log.ts';

export class LogState {
  readonly replicas = new Map<ReplicaId, ReplicaState>();
  readonly tombstones = new Set<ReplicaId>();
  readonly #host: ReplicaHost;

  constructor(host: ReplicaHost) {
    this.#host = host;
  }

  replica(id: ReplicaId): ReplicaState {
    return must(this.replicas.get(id), `replica ${id} is in the log`);
  }

  create(id: ReplicaId): ReplicaState {
    const state = new ReplicaState(id, this.#host);
    this.replicas.set(id, state);
    return state;
  }

  bury(id: ReplicaId): void {
    const state = this.replicas.get(id);
    state?.truncate(state.base.index);
    this.replicas.delete(id);
    this.tombstones.add(id);
  }

  /** Writes everything into the first batch of a segment. */
  writeCheckpoint(batch: Batch): void {
    const [replicas, tombstones] = [this.replicas.size, this.tombstones.size];
    batch.add({ kind: 'checkpoint', replicas, tombstones });
    for (const state of this.replicas.values()) {
      batch.add({ kind: 'replica', checkpoint: state.checkpoint() });
    }
    for (const replica of this.tombstones) batch.add({ kind: 'tombstone', replica });
  }

  /** Replays one record that lies at `offset` of `segment`. Returns what is wrong, if anything. */
  replay(record: LogRecord, segment: number, offset: number): string | undefined {
    switch (record.kind) {
      case 'entry':
      case 'moved':
        return this.#replayEntry(record, segment, offset);
      case 'reset': {
        if (this.tombstones.has(record.replica)) return `replica ${record.replica} was removed`;
        const state = this.replicas.get(record.replica) ?? this.create(record.replica);
        state.reset({ index: record.baseIndex, term: record.baseTerm }, record.generation);
        return undefined;
      }
      case 'tombstone':
        this.bury(record.replica);
        return undefined;
      case 'checkpoint':
      case 'replica':
        return 'a checkpoint that is not at the start of a segment';
      default:
        return this.#replayChange(record);
    }
  }

  #replayEntry(
    record: Extract<LogRecord, { kind: 'entry' | 'moved' }>,
    segment: number,
    offset: number,
  ): string | undefined {
    const state = this.replicas.get(record.replica);
    if (state === undefined) return `an entry of unknown replica ${record.replica}`;
    const { index, term, data } = record.entry;
    const place = { segment, offset, bytes: ENTRY_HEADER_BYTES + data.length };
    const last = state.lastIndex();
    if (record.kind === 'entry') {
      if (index !== last + 1) return `entry ${index} of replica ${record.replica} after ${last}`;
      state.append(term, place);
      return undefined;
    }
    // The copy was queued before the log moved on; what was dropped meanwhile stays dropped.
    if (index < state.firstIndex() || index > last) {
      return `a copy of entry ${index}, which replica ${record.replica} does not hold`;
    }
    const known = state.place(index).segment !== NOWHERE;
    if (known && state.term(index) !== term) return `entry ${index} copied with another term`;
    state.move(index, term, place);
    return undefined;
  }

  #replayChange(
    record: Extract<LogRecord, { kind: 'hardState' | 'compact' | 'truncate' }>,
  ): string | undefined {
    const state = this.replicas.get(record.replica);
    if (state === undefined) return `a record of unknown replica ${record.replica}`;
    if (record.kind === 'hardState') {
      state.setHardState(record.hardState);
      return undefined;
    }
    const index = record.kind === 'compact' ? record.baseIndex : record.lastIndex;
    if (index < state.base.index || index > state.lastIndex()) {
      return `${record.kind} of replica ${record.replica} at ${index}, outside its log`;
    }
    if (record.kind === 'compact') state.compact({ index, term: record.baseTerm });
    else state.truncate(index);
    return undefined;
  }

  /** Takes over a checkpoint (the oldest segment's) or compares it with what is here. */
  checkpoint(
    replicas: readonly ReplicaCheckpoint[],
    tombstones: readonly ReplicaId[],
    first: boolean,
  ): string | undefined {
    if (first) {
      for (const one of replicas) this.create(one.replica).restore(one);
      for (const id of tombstones) this.tombstones.add(id);
      return undefined;
    }
    const same =
      replicas.length === this.replicas.size &&
      tombstones.length === this.tombstones.size &&
      tombstones.every((id) => this.tombstones.has(id)) &&
      replicas.every((one) => sameCheckpoint(one, this.replicas.get(one.replica)?.checkpoint()));
    return same ? undefined : 'the checkpoint differs from what the segments before it hold';
  }
}

function sameCheckpoint(a: ReplicaCheckpoint, b: ReplicaCheckpoint | undefined): boolean {
  return (
    b !== undefined &&
    a.hardState.term === b.hardState.term &&
    a.hardState.vote === b.hardState.vote &&
    a.hardState.commit === b.hardState.commit &&
    a.baseIndex === b.baseIndex &&
    a.baseTerm === b.baseTerm &&
    a.firstIndex === b.firstIndex &&
    a.lastIndex === b.lastIndex &&
    a.generation === b.generation
  );
}
