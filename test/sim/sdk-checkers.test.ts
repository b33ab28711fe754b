/** What is judged of SDK clients and of readers at followers, on histories made by hand. */
import { describe, expect, test } from 'vitest';
import { array, bulk, integer, NULL, OK, type Reply } from '../../src/datanode/resp/reply.ts';
import type { Call } from './call.ts';
import { checkHistory } from './checkers/history.ts';
import { Bounds, TimeLimit } from './checkers/sdk-limits.ts';
import { checkCounts, checkPushes, type Push } from './checkers/sdk-once.ts';
import { checkStaleReads, type StaleRead } from './checkers/stale-reads.ts';
import { drawPlan, type SdkPlan } from './plan.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** From `fromMs` to `toMs`; without a reply nobody knows what became of it. */
function call(text: string, fromMs: number, toMs: number, reply?: Reply): Call {
  return {
    client: 1,
    words: text.split(' '),
    invokedMs: fromMs,
    returnedMs: reply === undefined ? NEVER : toMs,
    reply,
  };
}

const list = (...elements: string[]) => array(elements.map(bulk));

describe('lists', () => {
  test('that are read as they were pushed are linearizable', () => {
    const calls = [
      call('RPUSH sl0 a', 1, 2, integer(1)),
      call('RPUSH sl0 b', 3, NEVER),
      call('RPUSH sl0 lost', 3, NEVER),
      call('RPUSH sl0 c', 4, 9, integer(3)),
      call('LRANGE sl0 0 -1', 5, 6, list('a', 'b')),
      call('LRANGE sl0 0 -1', 10, 11, list('a', 'b', 'c')),
    ];
    expect(checkHistory(calls)).toBe(0);
  });

  test.each([
    ['that forget an element', [call('LRANGE sl0 0 -1', 5, 6, list())]],
    ['that hold one twice', [call('LRANGE sl0 0 -1', 5, 6, list('a', 'a'))]],
    ['that count one too many', [call('RPUSH sl0 b', 5, 6, integer(3))]],
  ])('%s are not', (_, more) => {
    const calls = [call('RPUSH sl0 a', 1, 2, integer(1)), ...more];
    expect(() => checkHistory(calls)).toThrow(/^history: sl0 is not linearizable/);
  });
});

describe('sets', () => {
  const filled = [
    call('SADD set0 m1', 1, 2, integer(1)),
    call('SADD set0 m2', 3, 4, integer(1)),
    call('SADD set0 m3', 5, 6, integer(1)),
  ];

  test('of which SPOP took some are linearizable', () => {
    const calls = [
      ...filled,
      call('SPOP set0', 7, NEVER),
      call('SPOP set0', 8, 9, bulk('m2')),
      call('SRANDMEMBER set0', 10, 11, bulk('m1')),
      call('SMEMBERS set0', 12, 13, list('m1')),
      call('SPOP set0 2', 14, 15, list('m1')),
      call('SPOP set0', 16, 17, NULL),
    ];
    expect(checkHistory(calls)).toBe(0);
  });

  test.each([
    ['of which SPOP takes what it says not', [call('SMEMBERS set0', 9, 10, list('m1', 'm2'))]],
    ['of which two take one member', [call('SPOP set0', 7, 9, bulk('m2'))]],
    ['that forget a member', [call('SMEMBERS set0', 9, 10, list('m1'))]],
    ['that say nothing is there', [call('SPOP set0', 9, 10, NULL)]],
  ])('%s are not', (_, more) => {
    const calls = [...filled, call('SPOP set0', 7, 8, bulk('m2')), ...more];
    expect(() => checkHistory(calls)).toThrow(/^history: set0 is not linearizable/);
  });
});

describe('what is pushed once', () => {
  const push = (element: string, outcome: Push['outcome']): Push => {
    return { key: 'sl0', element, outcome };
  };
  const left = new Map([['sl0', list('a', 'b', 'b')]]);

  test('may be there once, never, or as it was told', () => {
    const pushes = [push('a', 'done'), push('x', 'unknown'), push('y', 'refused')];
    expect(() => checkPushes(pushes, left)).not.toThrow();
  });

  test.each([
    ['twice', push('b', 'done')],
    ['twice, of which nobody knew', push('b', 'unknown')],
    ['not, though acknowledged', push('c', 'done')],
    ['though refused', push('a', 'refused')],
  ])('is not there %s', (_, one) => {
    expect(() => checkPushes([one], left)).toThrow(/^sdk once: /);
  });

  test('counts once', () => {
    const calls = [
      call('INCR sc0', 1, 2, integer(1)),
      call('INCR sc0', 3, 4, integer(3)),
      call('INCR sc0', 3, NEVER),
    ];
    const holds = (value: string) => new Map([['sc0', bulk(value)]]);
    expect(() => checkCounts(calls, holds('3'))).not.toThrow();
    expect(() => checkCounts(calls, holds('4'))).toThrow(/2 INCR were acknowledged, of 1 nobody/);
    expect(() => checkCounts(calls, holds('1'))).toThrow(/^sdk once: /);
    expect(() => checkCounts(calls, new Map([['sc0', NULL]]))).toThrow(/^sdk once: /);
    const same = [...calls, call('INCR sc0', 5, 6, integer(3))];
    expect(() => checkCounts(same, holds('3'))).toThrow(/two calls were told that sc0 is 3/);
  });
});

describe('a read at a follower, at 1000 of a bound of 100', () => {
  const read = (key: string, value: string | null): StaleRead => {
    return { by: 'reader', key, value, invokedMs: 1_000, returnedMs: 1_010 };
  };
  const writes = [
    call('SET r0 old', 100, 110, OK),
    call('SET r0 lost', 300, NEVER),
    call('SET r0 new', 700, 710, OK),
    call('SET r0 newer', 950, 960, OK),
    call('SET r0 later', 1_100, 1_110, OK),
    call('DEL r1', 100, 110, integer(1)),
    call('CAS r1 x y', 800, 810, OK),
  ];

  test.each([
    ['r0', 'new', 'was current within the bound'],
    ['r0', 'newer', 'is current'],
    ['r0', 'lost', 'may have come late'],
    ['r1', 'y', 'is current'],
  ])('of %s: %s %s', (key, value) => {
    expect(() => checkStaleReads([read(key, value)], writes, 100)).not.toThrow();
  });

  test.each([
    ['r0', 'old'],
    ['r0', null],
    ['r0', 'later'],
    ['r0', 'of nobody'],
    ['r1', null],
  ])('of %s: %s is wrong', (key, value) => {
    expect(() => checkStaleReads([read(key, value)], writes, 100)).toThrow(/^stale reads: /);
  });

  test('of a counter is between what had been counted before and what was by then', () => {
    const counts = [
      call('INCR n0', 1, 2, integer(1)),
      call('INCR n0', 500, 510, integer(2)),
      call('INCR n0', 905, 910, integer(3)),
      call('INCR n0', 1_005, NEVER),
      call('INCR n0', 1_100, 1_110, integer(4)),
    ];
    for (const value of ['2', '3', '4']) {
      expect(() => checkStaleReads([read('n0', value)], counts, 100)).not.toThrow();
    }
    for (const value of ['1', '5', null]) {
      expect(() => checkStaleReads([read('n0', value)], counts, 100)).toThrow(/^stale reads: /);
    }
    const texts = [call('APPEND a0 one,', 1, 2, integer(4)), call('APPEND a0 two,', 3, NEVER)];
    expect(() => checkStaleReads([read('a0', 'one,two,')], texts, 100)).not.toThrow();
    expect(() => checkStaleReads([read('a0', null)], texts, 100)).toThrow(/^stale reads: /);
  });
});

describe('the limits of a client', () => {
  const guest = { name: 'sdk0', pausedMs: 0, paused: false };
  let nowMs = 0;
  const clock = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    setTimer: () => ({ cancel() {} }),
    endOfTurn: () => {},
  };

  test('are kept by calls that end in time, but for the time their process was stopped', () => {
    const limit = new TimeLimit(guest, clock);
    const ended = limit.begin('GET', 1_000);
    nowMs += 1_030;
    limit.check();
    guest.pausedMs += 5_000;
    nowMs += 5_000;
    limit.check();
    expect(ended).not.toThrow();
  });

  test('are broken by one that ends late, or not at all', () => {
    const limit = new TimeLimit(guest, clock);
    const ended = limit.begin('GET', 1_000);
    nowMs += 1_200;
    expect(() => limit.check()).toThrow('sdk time: sdk0: GET has not ended after 1200 ms');
    expect(ended).toThrow('sdk time: sdk0: GET took 1200 ms, its limit is 1000');
  });

  test('bound what is under way, what waits, and connections', () => {
    const own: SdkPlan = {
      ...{
        kind: 'sessions',
        patient: false,
        loops: 1,
        timeoutMs: 1,
        attemptTimeoutMs: 1,
        lookupMs: 1,
      },
      ...{ maxInFlight: 4, maxQueued: 2 },
    };
    const bounds = new Bounds({ ...drawPlan('1'), nodes: 3, partitions: 2 }, own, 'sdk0');
    const connections = (count: number) => new Set(Array.from({ length: count }, (_, at) => at));
    expect(() => bounds.check({ inFlight: 12, queued: 2 }, connections(10))).not.toThrow();
    expect(() => bounds.check({ inFlight: 13, queued: 2 }, connections(9))).toThrow(/13 calls/);
    expect(() => bounds.check({ inFlight: 12, queued: 3 }, connections(9))).toThrow(/3 calls/);
    expect(() => bounds.check({ inFlight: 12, queued: 2 }, connections(11))).toThrow(/11 conn/);
  });
});
