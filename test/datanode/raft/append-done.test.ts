/**
 * What a replica believes durable when its log answers late: entries may have been replaced meanwhile,
 * and replaced once more by those that stood there first, which are still on their way then.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { Entry, Message } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

type Append = Extract<Message, { type: 'storageAppend' }>;

/** Follows, with a log that answers when the test lets it. */
function follower() {
  const confState = { ...EMPTY_CONF, voters: [1, 2, 3] };
  const storage = memoryStorage({ index: 10, term: 1, confState, data: new Uint8Array(0) });
  storage.setHardState({ term: 1, vote: 0, commit: 10 });
  const node = createRaftNode({
    ...{ id: 1, storage, random: seededRandom(1), applied: 10 },
    ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: true, preVote: true },
    ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
    ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
    ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
  });
  /** A leader of `term` replaces entry 11 by one of `entryTerm`; the work for the log. */
  const replace = (term: number, entryTerm: number, commit = 10): Append => {
    const entry: Entry = { term: entryTerm, index: 11, kind: 'normal', data: new Uint8Array(0) };
    const append = { type: 'append', from: (term % 2) + 2, to: 1, term } as const;
    node.step({ ...append, index: 10, logTerm: 1, entries: [entry], commit });
    const work = taken().find((message) => message.type === 'storageAppend')!;
    storage.append(work.entries); // readers see it at once
    return work;
  };
  const taken = () => (node.hasReady() ? node.ready().messages : []);
  const applies = (messages: readonly Message[]) =>
    messages.flatMap((message) => (message.type === 'storageApply' ? message.entries : []));
  /** The log has done the work; the entries that may be applied then. */
  const done = (work: Append) => {
    for (const message of work.responses) {
      if (message.type === 'storageAppendResponse') node.step(message);
    }
    return applies(taken()).map(({ index, term }) => `${term}/${index}`);
  };
  return { replace, done };
}

test('an entry that is committed is applied once it is durable', () => {
  const { replace, done } = follower();
  expect(done(replace(2, 2, 11))).toEqual(['2/11']);
});

test('the answer to what has been replaced twice says nothing of what stands there now', () => {
  const { replace, done } = follower();
  const [first, second, third] = [replace(2, 2), replace(3, 3), replace(4, 2, 11)];
  expect(done(first)).toEqual([]);
  expect(done(second)).toEqual([]);
  expect(done(third)).toEqual(['2/11']);
});
