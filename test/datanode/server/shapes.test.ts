/**
 * Objects that every command looks into have one hidden class, however many connections there are:
 * with one each, V8 finds their properties by search (a twentieth of what a GET cost).
 */
import { setFlagsFromString } from 'node:v8';
import { expect, test } from 'vitest';
import { createSubscriber } from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import { type CommandBatch, changedBatch } from '../../../src/datanode/partition/entries/batch.ts';
import { stateAt } from '../../../src/datanode/partition/storage/state.ts';
import { createSession } from '../../../src/datanode/server/session.ts';

setFlagsFromString('--allow-natives-syntax');
const haveSameMap = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (
  a: object,
  b: object,
) => boolean;

const start = {
  ...({ id: 1, door: 'cluster', remote: 'a:1', local: 'b:2', connectedMs: 1 } as const),
  ...{ closeAfterReply() {}, kill() {}, push() {} },
  subscriber: createSubscriber(() => {}),
  queued: () => ({ requests: 0, replyBytes: 0, transaction: 0 }),
};

const batch: CommandBatch = {
  ...({ namespace: 'default', partition: 0, kind: 'write', protocol: 2 } as const),
  ...{ lines: [], term: undefined, deadlineMs: 1 },
};

const state = {
  ...{ index: 1, term: 1, timeMs: 1, epoch: 1 },
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};

test.each<[string, () => object]>([
  ['sessions', () => createSession(start as never)],
  ['batches that are forwarded', () => changedBatch(batch, { term: 7 })],
  ['states of replicas', () => stateAt({ index: 2, term: 1 }, state, 5)],
])('%s have one shape', (_name, make) => {
  const made = Array.from({ length: 40 }, make);
  expect(made.filter((one) => !haveSameMap(one, made[0]!))).toEqual([]);
});

test('objects of other shapes are told apart', () => {
  expect(haveSameMap({ a: 1 }, { b: 1 })).toBe(false);
});
