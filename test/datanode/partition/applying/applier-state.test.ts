/** What becomes of a replica's state by the entries it applies: it never goes back. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { encodeEnvelope } from '../../../../src/datanode/partition/entries/envelope.ts';
import { encodeServedEpoch } from '../../../../src/datanode/partition/entries/served-epoch.ts';
import {
  decodeState,
  type ReplicaState,
} from '../../../../src/datanode/partition/storage/state.ts';
import { changeConf, EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';
import { encodeConfChange, LEAVE_JOINT } from '../../../../src/datanode/raft/conf-change-codec.ts';
import type { ConfChange, ConfState, Entry } from '../../../../src/datanode/raft/message.ts';

const BEGIN: ReplicaState = {
  ...{ index: 9, term: 2, timeMs: 5_000, epoch: 4 },
  confState: { ...EMPTY_CONF, voters: [1, 2] },
};

/** Applies `entries`, one engine batch each; the state after the last, as the engine has it. */
async function stateAfter(entries: readonly Omit<Entry, 'index' | 'term'>[]) {
  const { engine } = await createMemoryHost().open('1-0');
  const changes: ConfChange[] = [];
  let conf: ConfState = BEGIN.confState;
  const share = { firstSlot: 0, lastSlot: 16_383 };
  const applier = new Applier(systemClock, engine, BEGIN, share, {
    mayGather: () => false,
    applyConfChange: (change) => {
      changes.push(change);
      const result = changeConf(conf, change);
      if (result.ok) conf = result.conf;
      return conf;
    },
    onClear: () => {},
    onApplied: () => {},
    keyEvents: new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 })),
    onFault: (failure) => expect.unreachable(String(failure)),
  });
  for (const [at, entry] of entries.entries()) {
    applier.enqueue([{ ...entry, index: BEGIN.index + 1 + at, term: 3 }], () => {});
    await applier.whenIdle();
  }
  const state = decodeState(createView(engine).get(STATE_KEY)!, 'here');
  expect(applier.state).toEqual(state);
  return { state, changes };
}

function command(timeMs: number, ...words: string[]) {
  const body = { family: 'redis', lines: [words.map((word) => Buffer.from(word))] } as const;
  return { kind: 'normal', data: encodeEnvelope({ timeMs, seed: 1, body }) } as const;
}

function removal(replica: number, epoch: number) {
  const steps = [{ kind: 'remove', replica }] as const;
  const change = { transition: 'auto', steps, context: encodeServedEpoch(epoch) } as const;
  return { kind: 'confChangeV2', data: encodeConfChange(change) } as const;
}

test('an entry with an earlier time does not take the group back', async () => {
  const { state } = await stateAfter([command(6_000, 'SET', 'k', 'v'), command(4_000, 'DEL', 'k')]);
  expect(state).toEqual({ ...BEGIN, index: 11, term: 3, timeMs: 6_000 });
});

test('entries without a time leave it as it was', async () => {
  const { state } = await stateAfter([{ kind: 'normal', data: new Uint8Array(0) }]);
  expect(state).toEqual({ ...BEGIN, index: 10, term: 3 });
});

test('a change of members serves its epoch', async () => {
  const { state } = await stateAfter([removal(2, 4)]);
  expect(state).toMatchObject({ epoch: 4, confState: { voters: [1] } });
  const later = await stateAfter([removal(2, 7)]);
  expect(later.state).toMatchObject({ epoch: 7, confState: { voters: [1] } });
});

test('a change that serves an older wanted record than was served before is refused', async () => {
  const { state, changes } = await stateAfter([removal(2, 3)]);
  expect(changes).toEqual([]);
  expect(state).toEqual({ ...BEGIN, index: 10, term: 3 });
});

test('there is nothing to leave without a joint configuration', async () => {
  const leave = { kind: 'confChangeV2', data: encodeConfChange(LEAVE_JOINT) } as const;
  const { state, changes } = await stateAfter([leave]);
  expect(changes).toEqual([]);
  expect(state).toEqual({ ...BEGIN, index: 10, term: 3 });
});
