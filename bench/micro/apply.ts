/**
 * Committed entries into the engine: decoded, run, written as one batch, to the cheapest engine
 * there could be.
 */
import { systemClock } from '../../src/common/clock.ts';
import { tags } from '../../src/datanode/encoding/records/tags.ts';
import { Applier } from '../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../src/datanode/partition/applying/key-event-gate.ts';
import { encodeEnvelope } from '../../src/datanode/partition/entries/envelope.ts';
import { entryData, TIME_MS } from './envelope.ts';
import { MapEngine } from './map-engine.ts';
import { type Micro, TURN } from './micro.ts';

/** Entries whose keys come again and again: the engine's size stays as it is. */
const ENTRIES = 64;
/** What nothing here reads again is not kept: it would be a million by the end. */
const APPENDED: ReadonlySet<number | undefined> = new Set([tags.listElement, tags.streamEntry]);
const VALUE = Buffer.alloc(100, 'v');
const BIRTH = {
  ...{ index: 1, term: 1, timeMs: 0, epoch: 1 },
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};

export const apply: Micro = {
  text: `partition: apply an entry of ${TURN} SETs, LevelDB left out`,
  prepare: async () => appliedEntries(entryData),
};

export const applyPush: Micro = {
  text: `partition: the same of LPUSHs to one list`,
  prepare: async () => appliedEntries(() => entryOf(['LPUSH', 'list', VALUE])),
};

export const applyStreamAdd: Micro = {
  text: `partition: the same of XADDs to one stream`,
  prepare: async () => appliedEntries(() => entryOf(['XADD', 'stream', '*', 'field', VALUE])),
};

function entryOf(words: readonly (string | Buffer)[]): Buffer {
  const line = words.map((word) => Buffer.from(word));
  const lines = new Array(TURN).fill(line);
  return encodeEnvelope({ timeMs: TIME_MS, seed: 0, body: { family: 'redis', lines } });
}

function appliedEntries(entry: (at: number) => Buffer): (wanted: number) => Promise<number> {
  let fault: unknown;
  const applier = new Applier(
    systemClock,
    new MapEngine(({ 0: tag }) => !APPENDED.has(tag)),
    BIRTH,
    { firstSlot: 0, lastSlot: 16_383 },
    {
      mayGather: () => false,
      applyConfChange: () => BIRTH.confState,
      onClear: () => {},
      onApplied: () => {},
      keyEvents: new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 })),
      onFault: (failure) => {
        fault = failure;
      },
    },
  );
  const datas = Array.from({ length: ENTRIES }, (_, at) => entry(at));
  let index: number = BIRTH.index;
  return async (wanted) => {
    let done = 0;
    for (; done < wanted; done += TURN) {
      index++;
      const data = datas[index % ENTRIES]!;
      applier.enqueue([{ index, term: 1, kind: 'normal', data }], () => {});
      await applier.whenIdle();
      if (fault !== undefined) throw fault;
    }
    return done;
  };
}
