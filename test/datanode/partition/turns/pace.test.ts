/** How long commands work before others have their turn, by a clock that lookups make go on. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { ReadAhead } from '../../../../src/datanode/encoding/txn/read-ahead.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { runReply } from '../../../../src/datanode/partition/turns/run-ranges.ts';
import { handClock } from '../hand-clock.ts';

test('a turn ends after some steps, or by the clock; a glance asks only the clock', () => {
  const clock = handClock();
  const pace = new Pace(clock);
  for (let glances = 0; glances < 10 * limits.turnStepsMax; glances++) {
    expect(pace.isDue(true)).toBe(false);
  }
  for (let steps = 1; steps < limits.turnStepsMax; steps++) expect(pace.isDue()).toBe(false);
  expect(pace.isDue()).toBe(true);
  clock.ms += limits.workMs;
  expect(pace.isDue(true)).toBe(true);
});

const MEMBERS = 300;
const SLOW_LOOKUP_MS = 0.5;

/** The most lookups of one turn while each takes so long. */
async function lookupsPerTurn(lookupMs: number, words: readonly string[]): Promise<number> {
  const clock = handClock();
  const { engine } = await createMemoryHost().open('1-0');
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  const fill = new Txn(engine);
  fill.beginEntry(1);
  for (const key of ['a', 'b']) {
    for (let at = 0; at < MEMBERS; at++) {
      const line = ['ZADD', key, String(at), `m${at}`].map((word) => Buffer.from(word));
      const command = resolveCommand(line);
      const prepared = command?.kind === 'write' ? command.prepare(line) : undefined;
      if (!prepared?.ok) throw new Error('ZADD writes');
      prepared.run(fill, context);
    }
  }
  await engine.write(fill.operations());
  let most = 0;
  let [turn, lookups] = [-1, 0];
  const view = createView({
    getSync(key) {
      clock.ms += lookupMs;
      if (clock.turns !== turn) [turn, lookups] = [clock.turns, 0];
      most = Math.max(most, ++lookups);
      return engine.getSync(key);
    },
  });
  const line = words.map((word) => Buffer.from(word));
  const command = resolveCommand(line);
  const prepared = command?.kind === 'read' ? command.prepare(line) : undefined;
  if (!prepared?.ok) throw new Error(`${words[0]} reads`);
  const run = prepared.run(view, context);
  if ('kind' in run) throw new Error(`${words[0]} needs ranges`);
  const reply = await runReply(run, new ReadAhead(engine), new Pace(clock));
  expect(reply.kind).not.toBe('error');
  return most;
}

test.each([
  ['ZINTER', '2', 'a', 'b'],
  ['ZDIFF', '2', 'a', 'b'],
  ['ZINTERCARD', '2', 'a', 'b'],
])('%s looks up a few members at a time while lookups are slow', async (...words) => {
  expect(await lookupsPerTurn(0.001, words)).toBeGreaterThan(64);
  expect(await lookupsPerTurn(SLOW_LOOKUP_MS, words)).toBeLessThanOrEqual(8 + 4);
});
