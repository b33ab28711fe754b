/**
 * Hostile programs through EVAL, with little to spend: every one comes to an answer, soon, and to the same
 * whatever the pauses. An exception of JavaScript would end the replicas, or is a defect that is told.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { replyText } from '../datanode/commands/reply-text.ts';
import { scale } from '../scale.ts';
import { hostileProgram } from './hostile-programs.ts';
import { checkAsync } from './property.ts';

const CPU_SECONDS_MAX = 5;

const changeable: Partial<Record<keyof typeof limits, unknown>> = limits;
const before = { ...limits };
beforeEach(() => {
  Object.assign(changeable, {
    scriptStepsMax: 200_000,
    scriptCallStepsMax: 100_000,
    scriptBytesMadeMax: 4_000_000,
    libraryLoadStepsMax: 50_000,
    libraryLoadBytesMax: 1_000_000,
  });
});
afterEach(() => void Object.assign(changeable, before));

async function outcome(source: string, pauseSteps: number): Promise<string> {
  changeable.scriptPauseSteps = pauseSteps;
  const partition = await LonePartition.open();
  const began = process.cpuUsage();
  const reply = replyText(await partition.call('EVAL', Buffer.from(source, 'latin1'), '1', 'k'));
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1e6, 'seconds').toBeLessThan(CPU_SECONDS_MAX);
  return `${reply}\n${replyText(await partition.call('DUMP', 'k'))}`;
}

test('a hostile program comes to an answer, to the same one whatever the pauses', async () => {
  await checkAsync(
    scale.fuzzScripts,
    fc.asyncProperty(
      hostileProgram,
      fc.integer({ min: 1, max: 300 }),
      async (source, pauseSteps) => {
        const whole = await outcome(source, 1_000_000);
        expect(whole).not.toMatch(/met a defect of kvorum/);
        expect(await outcome(source, pauseSteps)).toBe(whole);
      },
    ),
  );
});

/** It runs while the library is loaded as well as in the call, with nothing there but `redis` at first. */
async function outcomeOfLibrary(program: string, pauseSteps: number): Promise<string> {
  changeable.scriptPauseSteps = pauseSteps;
  const partition = await LonePartition.open();
  const code =
    `#!lua name=lib\nlocal mine, hostile = redis, function(KEYS, ARGV)\n${program}\nend\n` +
    "redis.register_function('call', hostile)\nredis.register_function('again', mine.log)\n" +
    "redis.register_function('now', function(KEYS) mine.register_function('x', hostile) end)";
  const atOnce = code.replace(/redis\.register_function\('again'.*/, 'hostile({}, {})');
  const replies: string[] = [];
  for (const line of [
    ['FUNCTION', 'LOAD', Buffer.from(atOnce, 'latin1')],
    ['FUNCTION', 'LOAD', 'REPLACE', Buffer.from(code, 'latin1')],
    ...['call', 'again', 'now', 'call'].map((name) => ['FCALL', name, '1', 'k']),
    ['FUNCTION', 'STATS'],
    ['DUMP', 'k'],
  ]) {
    const began = process.cpuUsage();
    replies.push(replyText(await partition.call(...line)));
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e6, 'seconds').toBeLessThan(CPU_SECONDS_MAX);
  }
  return replies.join('\n');
}

test('a hostile library is loaded or refused, and its calls come to the same', async () => {
  await checkAsync(
    Math.ceil(scale.fuzzScripts / 16),
    fc.asyncProperty(
      hostileProgram,
      fc.integer({ min: 1, max: 300 }),
      async (program, pauseSteps) => {
        const whole = await outcomeOfLibrary(program, 1_000_000);
        expect(whole).not.toMatch(/met a defect of kvorum/);
        expect(await outcomeOfLibrary(program, pauseSteps)).toBe(whole);
      },
    ),
  );
});
