import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import type { ErrorCode } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import type { CommandBatch, LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import { ForwardedWrites } from '../../../src/datanode/routing/forwarded-writes.ts';
import type { LeaderHint } from '../../../src/datanode/routing/table.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const done: LineResult = { ok: true, reply: OK };
const failed = (code: ErrorCode): LineResult => ({ ok: false, code, message: 'why' });

/** What the group answers to the batches that come, in order; then OK. */
let script: (LineResult | 'never')[];
let seen: string[];
let leader: LeaderHint | undefined;
/** Groups of the table. */
let there: Set<number>;
/** Those that were given up, their partitions rebuilt. */
let rebuilt: Set<number>;
let listeners: Set<() => void>;
let writes: ForwardedWrites;

beforeEach(() => {
  script = [];
  seen = [];
  leader = { node: 'a', term: 3 };
  listeners = new Set();
  there = new Set([10]);
  rebuilt = new Set();
  writes = new ForwardedWrites({
    clock: systemClock,
    bootId: 'b00t',
    leader: () => leader,
    isGroupOf: (_namespace, _partition, group) => there.has(group),
    members: (_namespace, _partition, group) => {
      if (rebuilt.has(group)) return [];
      return there.has(group) ? ['a', 'b'] : undefined;
    },
    onLeader: (_group, listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    attempt: answer,
  });
});

function answer(batch: CommandBatch, signal: AbortSignal): Promise<readonly LineResult[]> {
  const { once, lines } = batch;
  const mark = once === undefined ? '' : ` ${once.id} ${once.sequence}/${once.low}`;
  seen.push(`${lines.map((words) => words.join(' ')).join('; ')}${mark}`);
  const next = script.shift() ?? done;
  if (next !== 'never') return Promise.resolve(lines.map(() => next));
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(lines.map(() => failed('OUTCOME_UNKNOWN'))));
  });
}

function write(text: string, group = 10): Promise<readonly LineResult[]> {
  const deadlineMs = systemClock.monotonicMs() + 1_000;
  const batch = { namespace: 'default', partition: 0, group, kind: 'write' } as const;
  const lines = [line(text)];
  return writes.execute({ ...batch, lines, protocol: 2, term: undefined, deadlineMs }, group);
}

test('a session is opened before the first batch, and batches are numbered', async () => {
  expect(await Promise.all([write('INCR a'), write('INCR b')])).toEqual([[done], [done]]);
  expect(await write('INCR c')).toEqual([done]);
  expect(seen).toEqual([
    'KV.SESSION OPEN gateway-b00t-1 -',
    'INCR a gateway-b00t-1 1/1',
    'INCR b gateway-b00t-1 2/1',
    'INCR c gateway-b00t-1 3/3',
  ]);
  expect(listeners.size).toBe(0);
});

test('an outcome that is not known is asked for under the same sequence', async () => {
  script = [done, failed('CONNECTION_LOST'), failed('NO_LEADER'), failed('DEADLINE'), done];
  expect(await write('INCR a')).toEqual([done]);
  expect(seen.slice(1)).toEqual(Array.from({ length: 4 }, () => 'INCR a gateway-b00t-1 1/1'));
  expect(writes.repeated).toBe(3);
});

describe('an outcome that is not known and that nobody can tell is not asked for', () => {
  test('when the group was deleted with all it held', async () => {
    script = [done, failed('OUTCOME_UNKNOWN')];
    there.clear();
    expect(await write('INCR a')).toMatchObject([{ ok: false, code: 'NO_PARTITION' }]);
    expect(writes.repeated).toBe(0);
  });

  test('also once this node hears of that, while it asks', async () => {
    script = [done, failed('OUTCOME_UNKNOWN'), failed('NO_LEADER'), failed('NO_LEADER')];
    script.push(...Array.from({ length: 60 }, () => failed('NO_LEADER')));
    const written = write('INCR a');
    await expect.poll(() => writes.repeated).toBeGreaterThan(1);
    there.clear();
    expect(await written).toMatchObject([{ ok: false, code: 'NO_PARTITION' }]);
  });

  test('when the partition was rebuilt from one of its replicas', async () => {
    script = [done, failed('OUTCOME_UNKNOWN')];
    rebuilt.add(10);
    expect(await write('INCR a')).toEqual([failed('OUTCOME_UNKNOWN')]);
    expect(writes.repeated).toBe(0);
  });
});

test('what was not proposed goes back to whoever knows what must not overtake it', async () => {
  script = [done, failed('NOT_LEADER')];
  expect(await write('INCR a')).toEqual([failed('NOT_LEADER')]);
  expect(await write('INCR a')).toEqual([done]);
  expect(seen.slice(1)).toEqual(['INCR a gateway-b00t-1 1/1', 'INCR a gateway-b00t-1 2/2']);
});

test('what can never be sent is not tried again', async () => {
  script = [done, failed('TOO_LARGE')];
  expect(await write('INCR a')).toEqual([failed('TOO_LARGE')]);
  expect(seen.slice(1)).toEqual(['INCR a gateway-b00t-1 1/1']);
  expect(writes.repeated).toBe(0);
});

test('without a session nothing is sent', async () => {
  script = [failed('CONNECTION_LOST'), { ok: true, reply: { kind: 'error', text: 'TRYAGAIN' } }];
  expect(await write('INCR a')).toMatchObject([{ ok: false, code: 'BUSY' }]);
  expect(await write('INCR a')).toMatchObject([{ ok: false, code: 'BUSY' }]);
  expect(await write('INCR a')).toEqual([done]);
  expect(seen.filter((text) => text.startsWith('INCR'))).toEqual(['INCR a gateway-b00t-1 1/1']);
});

test('a lost session is replaced by one of another id; what may have run is unknown', async () => {
  script = [done, failed('SESSION_LOST')];
  expect(await write('INCR a')).toEqual([done]);
  expect(seen.slice(1)).toEqual([
    'INCR a gateway-b00t-1 1/1',
    'KV.SESSION OPEN gateway-b00t-2 -',
    'INCR a gateway-b00t-2 1/1',
  ]);
  script = [failed('CONNECTION_LOST'), failed('SESSION_LOST')];
  expect(await write('INCR b')).toEqual([failed('CONNECTION_LOST')]);
});

test('news of another leader end an attempt: that one is asked', async () => {
  script = [done, 'never', done];
  const answered = write('INCR a');
  while (seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
  leader = { node: 'b', term: 4 };
  for (const listener of [...listeners]) listener();
  expect(await answered).toEqual([done]);
  expect(seen.at(-1)).toBe('INCR a gateway-b00t-1 1/1');
});

describe('what nobody can tell is asked for within a bound', () => {
  /** Asks for `lines` until the outcome is given up. */
  async function giveUp(...lines: string[]) {
    const clock = new ManualClock();
    const leftMs: number[] = [];
    const patient = new ForwardedWrites({
      clock,
      bootId: 'b00t',
      leader: () => leader,
      isGroupOf: () => true,
      members: () => ['a', 'b'],
      onLeader: () => () => {},
      attempt: async ({ lines, deadlineMs, once }) => {
        if (once === undefined) return [done];
        leftMs.push(deadlineMs - clock.monotonicMs());
        return lines.map(() => failed('CONNECTION_LOST'));
      },
    });
    const batch = { namespace: 'default', partition: 0, group: 10, kind: 'write' } as const;
    const rest = { protocol: 2, term: undefined, deadlineMs: limits.holdMs } as const;
    const answered = patient.execute({ ...batch, ...rest, lines: lines.map(line) }, 10);
    expect(await clock.until(answered)).toEqual(lines.map(() => failed('CONNECTION_LOST')));
    return { tookMs: clock.monotonicMs(), leftMs };
  }

  test.each([
    ['a plain command', ['INCR a']],
    ['one under a session beside one without', ['KV.ONCE s 1 1 INCR a', 'INCR a']],
  ])('%s, each time for as long as requests are held', async (_, lines) => {
    const { tookMs, leftMs } = await giveUp(...lines);
    expect(tookMs).toBeGreaterThanOrEqual(limits.outcomeWaitMs);
    expect(tookMs).toBeLessThan(limits.outcomeWaitMs + 200);
    expect(Math.max(...leftMs)).toBe(limits.holdMs);
  });

  test('under a session of the client no longer than requests are held', async () => {
    const { tookMs, leftMs } = await giveUp('KV.ONCE s 1 1 INCR a', 'kv.once s 2 1 INCR a');
    expect(tookMs).toBeGreaterThanOrEqual(limits.holdMs);
    expect(tookMs).toBeLessThan(limits.holdMs + 200);
    expect(leftMs.length).toBeGreaterThan(10);
  });
});

test('when the node stops nothing is asked for any more', async () => {
  script = [done, ...Array.from({ length: 1_000 }, () => failed('CONNECTION_LOST'))];
  const answered = write('INCR a');
  await new Promise((resolve) => setTimeout(resolve, 30));
  writes.close();
  expect(await answered).toEqual([failed('CONNECTION_LOST')]);
});

test('sessions with groups that are gone are forgotten, those with others are kept', async () => {
  script = [done, 'never'];
  const underWay = write('INCR a', 9);
  await expect.poll(() => script).toEqual([]);
  await write('INCR a');
  for (let group = 11; group < 1_000; group++) {
    there.add(group);
    await write('INCR a', group);
    there.delete(group);
    expect(writes.sessions).toBeLessThanOrEqual(64);
  }
  seen.length = 0;
  await write('INCR b');
  expect(seen).toEqual(['INCR b gateway-b00t-2 2/2']);
  writes.close();
  leader = { node: 'b', term: 4 };
  for (const listener of [...listeners]) listener();
  expect(await underWay).toEqual([failed('OUTCOME_UNKNOWN')]);
});
