/**
 * Committed entries into the engine: decoded, run, written as one batch, to the cheapest engine
 * there could be.
 */
import { systemClock } from '../../src/common/clock.ts';
import { Applier } from '../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../src/datanode/partition/applying/key-event-gate.ts';
import { entryData } from './envelope.ts';
import { MapEngine } from './map-engine.ts';
import { type Micro, TURN } from './micro.ts';

/** Entries whose keys come again and again: the engine's size stays as it is. */
const ENTRIES = 64;
const BIRTH = {
  ...{ index: 1, term: 1, timeMs: 0, epoch: 1 },
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};

export const apply: Micro = {
  text: `partition: apply an entry of ${TURN} SETs, LevelDB left out`,
  async prepare() {
    let fault: unknown;
    const applier = new Applier(
      systemClock,
      new MapEngine(),
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
    const datas = Array.from({ length: ENTRIES }, (_, at) => entryData(at));
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
  },
};
