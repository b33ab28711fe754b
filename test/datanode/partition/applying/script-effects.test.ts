/** What scripts do beside their replies: what they publish, in its place among events of keys. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import type { KeyEvent } from '../../../../src/datanode/encoding/txn/view.ts';
import {
  KeyEventGate,
  type KeyEventSink,
} from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { ScriptEffects } from '../../../../src/datanode/partition/applying/script-effects.ts';

const bytes = (text: string) => Buffer.from(text);
const event = (name: string): KeyEvent => ({ of: 'string', event: name, key: bytes('k') });

function sinkOf(told: string[], wanted = true): KeyEventSink {
  return {
    wanted: () => wanted,
    publish: (_namespace, events) => told.push(...events.map((of) => of.event)),
    publishMessage: ({ channel, message, isSharded }) =>
      told.push(`${isSharded ? 'shard ' : ''}${channel}=${message}`),
    countLost: (messages) => told.push(`lost ${messages}`),
  };
}

const led = (sink: KeyEventSink | undefined) =>
  new KeyEventGate(sink, 'default', () => ({ isLeader: true, term: 4 }));
const pace = { isDue: () => false, pause: async () => {} };

test('messages are told where they were published among the events of keys', async () => {
  const told: string[] = [];
  const events = [event('set')];
  const effects = new ScriptEffects();
  effects.beginEntry({ events }, true);
  effects.publish(bytes('c'), bytes('1'), false);
  events.push(event('del'), event('new'));
  effects.publish(bytes('c'), bytes('2'), true);
  effects.publish(bytes('c'), bytes('3'), false);
  events.push(event('end'));
  await led(sinkOf(told)).publishAll(events, effects, pace);
  expect(told).toEqual(['set', 'c=1', 'del', 'new', 'shard c=2', 'c=3', 'end']);
});

test('others have their turns while many are told', async () => {
  const told: string[] = [];
  const effects = new ScriptEffects();
  effects.beginEntry(undefined, true);
  for (let at = 0; at < 10; at++) effects.publish(bytes('c'), bytes(`${at}`), false);
  let pauses = 0;
  const due = {
    isDue: () => true,
    pause: async () => {
      pauses++;
    },
  };
  await led(sinkOf(told)).publishAll([], effects, due);
  expect([told.length, pauses]).toEqual([10, 10]);
});

test('whoever does not lead in the term of the entry tells nothing', () => {
  const gate = led(sinkOf([], false));
  expect([3, 4, 5].map((term) => gate.isTelling(term))).toEqual([false, true, false]);
  expect(led(undefined).isTelling(4)).toBe(false);
  const effects = new ScriptEffects();
  effects.beginEntry(undefined, false);
  effects.publish(bytes('c'), bytes('1'), false);
  expect([effects.messages.length, effects.bytes]).toEqual([0, 0]);
});

test('beyond the bytes that a batch may hold messages are lost, and counted', async () => {
  const told: string[] = [];
  const effects = new ScriptEffects();
  effects.beginEntry(undefined, true);
  const quarter = Buffer.alloc(limits.scriptMessagesBytesMax / 4);
  for (let at = 0; at < 6; at++) effects.publish(bytes('c'), quarter, false);
  effects.publish(bytes('c'), bytes('small'), false);
  expect(effects.bytes).toBeLessThanOrEqual(limits.scriptMessagesBytesMax);
  await led(sinkOf(told)).publishAll([], effects, pace);
  expect(told.slice(3)).toEqual(['c=small', 'lost 3']);
});
