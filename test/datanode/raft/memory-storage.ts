/** A RaftStorage in memory, with the writes that a node's log does for it. */
import { assert } from '../../../src/common/assert.ts';
import type { LogIndex, Term } from '../../../src/common/ids.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { ConfState, Entry, HardState, Snapshot } from '../../../src/datanode/raft/message.ts';
import type { RaftStorage } from '../../../src/datanode/raft/storage.ts';

export interface MemoryStorage extends RaftStorage {
  setHardState(hardState: HardState): void;
  /** Appends, replacing what stands at the entries' indexes. */
  append(entries: readonly Entry[]): void;
  /** Replaces the log by a snapshot. */
  applySnapshot(snapshot: Snapshot): void;
  /** The configuration that a restarted replica begins with. */
  setConfState(confState: ConfState): void;
  /** Drops the entries up to `index`. */
  compact(index: LogIndex): void;
  /** What a sent snapshot shall be, instead of the last one applied. */
  provideSnapshot(provide: () => Snapshot | 'unavailable'): void;
  /** A copy as it is now: what a restarted replica finds. */
  copy(): MemoryStorage;
}

const EMPTY_SNAPSHOT: Snapshot = {
  index: 0,
  term: 0,
  confState: EMPTY_CONF,
  data: new Uint8Array(0),
};

interface Held {
  hardState: HardState;
  /** The entry before the first: compacted away, but its term is known. */
  base: { index: LogIndex; term: Term };
  entries: Entry[];
  snapshot: Snapshot;
  confState: ConfState;
}

/** An empty storage, or one that starts with `snapshot`. */
export function memoryStorage(snapshot?: Snapshot): MemoryStorage {
  const storage = open({
    hardState: { term: 0, vote: 0, commit: 0 },
    base: { index: 0, term: 0 },
    entries: [],
    snapshot: EMPTY_SNAPSHOT,
    confState: EMPTY_CONF,
  });
  if (snapshot !== undefined) {
    storage.applySnapshot(snapshot);
    storage.setHardState({ term: 0, vote: 0, commit: snapshot.index });
  }
  return storage;
}

function open(held: Held): MemoryStorage {
  let provide = (): Snapshot | 'unavailable' => held.snapshot;
  const lastIndex = () => held.base.index + held.entries.length;
  return {
    initialState: () => ({ hardState: held.hardState, confState: held.confState }),
    firstIndex: () => held.base.index + 1,
    lastIndex,
    term(index) {
      if (index < held.base.index) return 'compacted';
      if (index === held.base.index) return held.base.term;
      return held.entries[index - held.base.index - 1]?.term ?? 'unavailable';
    },
    entries(from, to, bytesMax) {
      if (from <= held.base.index) return 'compacted';
      assert(to <= lastIndex() + 1, `entries up to ${to} were asked for`);
      const found: Entry[] = [];
      let bytes = 0;
      for (let index = from; index < to; index++) {
        const entry = held.entries[index - held.base.index - 1]!;
        bytes += entry.data.length;
        if (bytes > bytesMax && found.length > 0) break;
        found.push(entry);
      }
      return found;
    },
    snapshot: () => provide(),
    setHardState(hardState) {
      held.hardState = hardState;
    },
    append(entries) {
      if (entries.length === 0) return;
      const first = entries[0]!.index;
      assert(first <= lastIndex() + 1, `entry ${first} leaves a gap after ${lastIndex()}`);
      assert(first > held.base.index, `entry ${first} is compacted`);
      held.entries = [...held.entries.slice(0, first - held.base.index - 1), ...entries];
    },
    applySnapshot(snapshot) {
      held.snapshot = snapshot;
      held.confState = snapshot.confState;
      held.base = { index: snapshot.index, term: snapshot.term };
      held.entries = [];
    },
    setConfState(confState) {
      held.confState = confState;
    },
    compact(index) {
      assert(index > held.base.index && index <= lastIndex(), `compact to ${index}`);
      const at = index - held.base.index;
      held.base = { index, term: held.entries[at - 1]!.term };
      held.entries = held.entries.slice(at);
    },
    provideSnapshot(next) {
      provide = next;
    },
    copy: () => open({ ...held, entries: held.entries.slice() }),
  };
}
