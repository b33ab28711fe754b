/** What of the chaos run needs no process. */
import { describe, expect, test } from 'vitest';
import { longestGap, slowest, throughput } from '../../chaos/availability.ts';
import { parseOptions } from '../../chaos/options.ts';
import { drawPlot } from '../../chaos/plot.ts';
import { type Answered, Recorder } from '../../chaos/recorder.ts';
import { rowsOf } from '../../chaos/report.ts';
import type { FaultRecord } from '../../chaos/run.ts';
import { faultKinds, schedule } from '../../chaos/schedule.ts';
import { isClean, judge, showFindings } from '../../chaos/verdict.ts';
import { readOf, Worker } from '../../chaos/work.ts';
import { seededRandom } from '../../src/common/random.ts';
import type { Call } from '../linearizability/history.ts';
import { Keyspace, runCommand, runTransaction } from '../linearizability/keyspace.ts';
import { parseHistory } from '../linearizability/notation.ts';

const now = async () => {};

describe('the schedule', () => {
  const some = (seed: string, count: number) => {
    const plans = schedule(seed, faultKinds, 4);
    return Array.from({ length: count }, () => plans.next().value);
  };

  test('is the same for the same seed, and another for another', () => {
    expect(some('a', 40)).toEqual(some('a', 40));
    expect(some('a', 40)).not.toEqual(some('b', 40));
  });

  test('has every kind once before it has any twice', () => {
    const kinds = some('a', faultKinds.length * 2).map(({ kind }) => kind);
    expect(kinds.slice(0, faultKinds.length).sort()).toEqual([...faultKinds].sort());
    expect(kinds.slice(faultKinds.length).sort()).toEqual([...faultKinds].sort());
  });

  test('strikes each machine', () => {
    const struck = new Set(some('a', 60).map(({ machines }) => machines[0]));
    expect([...struck].sort()).toEqual([0, 1, 2, 3]);
    expect(() => schedule('a', [], 4).next()).toThrow('no fault is left');
  });
});

describe('options', () => {
  test('have defaults, and are checked by name', () => {
    expect(parseOptions([], 5_000)).toMatchObject({ seconds: 300, seed: '5', datanodes: 4 });
    expect(parseOptions(['--faults', 'kill, pause'], 0).faults).toEqual(['kill', 'pause']);
    expect(() => parseOptions(['--faults', 'flood'], 0)).toThrow('--faults flood: use kill, ');
    expect(() => parseOptions(['--minutes', '0'], 0)).toThrow('--minutes 0: must be a number');
    expect(() => parseOptions(['--etcd', '2'], 0)).toThrow('--etcd 2: must be 1 or 3');
    expect(() => parseOptions(['--chaos'], 0)).toThrow("Unknown option '--chaos'");
  });
});

describe('the work of clients', () => {
  test('is in the model, is drawn from the seed, and never writes a value twice', () => {
    const draw = (seed: string) => {
      const worker = new Worker(seededRandom(seed), 'w');
      return Array.from({ length: 3_000 }, (_, at) => worker.next(Math.floor(at / 100)));
    };
    expect(draw('a')).toEqual(draw('a'));
    let state = new Keyspace();
    const values = new Set<string>();
    for (const { lines, isTransaction } of draw('a')) {
      const ran = isTransaction ? runTransaction(state, lines) : runCommand(state, lines[0]!);
      state = ran.state;
      const pushed = lines.filter(([name]) => name === 'RPUSH').map(([, , value]) => value!);
      for (const value of pushed) expect(values.has(value)).toBe(false);
      for (const value of pushed) values.add(value);
      for (const [, key = ''] of lines) {
        expect(JSON.stringify(runCommand(state, readOf(key)).reply)).not.toMatch(/^"-/);
      }
    }
    expect(values.size).toBeGreaterThan(300);
  });
});

describe('the recorder', () => {
  const times = { invokedMs: 1, endedMs: 2 };

  test('knows the partition of a key, and a key of each partition', () => {
    const recorder = new Recorder(5);
    const found = [0, 1, 2, 3, 4].map((at) => recorder.partitionOf(recorder.keyOf(at)));
    expect(found).toEqual([0, 1, 2, 3, 4]);
  });

  test('keeps unknown outcomes without end, and what was refused not at all', () => {
    const recorder = new Recorder(1);
    const request = { lines: [['SET', 'x', '1']] };
    recorder.note('c', 'sdk', request, times, { kind: 'refused', why: 'CLUSTERDOWN 12' });
    recorder.note('c', 'sdk', request, times, { kind: 'unknown', why: 'cut' });
    recorder.note('c', 'sdk', request, times, { kind: 'ok', reply: 'OK' });
    expect(recorder.calls.map(({ returnedMs }) => returnedMs)).toEqual([Infinity, 2]);
    expect(recorder.counts).toEqual({ ok: 1, refused: 1, unknown: 1 });
    expect([...recorder.texts.keys()]).toEqual(['refused: CLUSTERDOWN #', 'unknown: cut']);
  });
});

describe('availability', () => {
  const ok = (partition: number, invokedMs: number, endedMs: number): Answered => ({
    door: 'sdk',
    outcome: 'ok',
    ...{ partition, invokedMs, endedMs },
  });
  const answers = [ok(0, 0, 10), ok(1, 0, 20), ok(0, 10, 60), ok(1, 80, 95), ok(0, 61, 90)];
  const window = { fromMs: 0, toMs: 100 };

  test('is that of the partition that was away longest', () => {
    expect(longestGap(answers, window, 2)).toBe(75);
    expect(longestGap(answers, window, 3)).toBe(100);
    expect(longestGap(answers, { fromMs: 30, toMs: 50 }, 2)).toBe(20);
    const stoodStill = (fromMs: number, toMs: number) => (toMs - fromMs) / 2;
    expect(longestGap(answers, window, 2, stoodStill)).toBe(37.5);
  });

  test('tells the slowest call of a door, and calls per second', () => {
    expect(slowest(answers, window, 'sdk')).toBe(50);
    expect(slowest(answers, window, 'gateway')).toBe(0);
    expect(throughput(answers, window, 50)).toEqual([40, 60]);
  });
});

describe('the verdict', () => {
  test('is clean for what has an order; a pop in vain says nothing', async () => {
    const calls = parseHistory(`
      0-1 a: RPUSH 0:queue:1 1 = 1
      2-9 b: BLPOP 0:queue:1 1 = null
      10-11 a: RPUSH {0:append:1}x 1 = 1
      12-13 b: LRANGE {0:append:1}x 0 -1 = ["1"]`);
    const verdict = await judge(calls, now);
    expect(verdict).toMatchObject({ calls: 4, parts: 2, vain: 1, appends: 2, anomalies: [] });
    expect(isClean(verdict)).toBe(true);
  });

  test('names what was lost by both checks', async () => {
    const calls = parseHistory(`
      0-1 a: RPUSH {0:append:1}x 1 = 1
      2-3 a: MULTI RPUSH {0:append:1}x 2, LRANGE {0:append:1}x 0 -1 = [2,["1","2"]]
      4-5 b: LRANGE {0:append:1}x 0 -1 = ["1"]`);
    const verdict = await judge(calls, now);
    expect(isClean(verdict)).toBe(false);
    expect(verdict.violations.map(({ keys }) => keys)).toEqual([['{0:append:1}x']]);
    expect(verdict.anomalies.map(({ kind }) => kind)).toEqual(['real time']);
    expect(showFindings(verdict)).toContain('2 calls are explained');
  });
});

describe('places in the log', () => {
  test('that do not fit what clients were told are findings', async () => {
    const calls = parseHistory(`
      0-9 a: SET 0:register:1 1 = "OK" @ 5.0
      0-9 b: SET 0:register:1 2 = "OK" @ 6.0
      10-11 a: GET 0:register:1 = "1" @ 7`);
    const verdict = await judge(calls, now);
    expect(verdict).toMatchObject({ violations: [], anomalies: [], places: { placed: 3 } });
    expect(isClean(verdict)).toBe(false);
    expect(showFindings(verdict)).toMatch(/^0:register:1: at a read of entry 7/);
  });
});

describe('the work and the verdict together', () => {
  /** The requests of a client one by one; the effect of the one at `lost` is acknowledged, and gone. */
  function history(
    count: number,
    lost?: number,
  ): { readonly calls: Call[]; readonly grows: number[] } {
    const worker = new Worker(seededRandom('together'), 'w');
    const calls: Call[] = [];
    const grows: number[] = [];
    let state = new Keyspace();
    const carryOut = (lines: Call['lines'], isTransaction = false) => {
      const ran = isTransaction ? runTransaction(state, lines) : runCommand(state, lines[0]!);
      const at = calls.length;
      const times = { invokedMs: at * 10, returnedMs: at * 10 + 12 };
      calls.push({ client: 'w', lines, isTransaction, ...times, reply: ran.reply });
      if (at !== lost) state = ran.state;
    };
    for (let at = 0; at < count; at++) {
      const { family, lines, isTransaction } = worker.next(0);
      // without deadlines, and what nothing later can take away
      const grown = family === 'append' && lines.some(([name]) => name === 'RPUSH');
      if (grown || (family === 'counter' && lines[0]![0] !== 'GET')) grows.push(calls.length);
      if (family !== 'deadline') carryOut(lines, isTransaction);
    }
    const keys = new Set(calls.flatMap(({ lines }) => lines.map(([, key = '']) => key)));
    for (const key of keys) carryOut([readOf(key)]);
    return { calls, grows };
  }

  test('accept what took effect, and find any write that was lost', async () => {
    const whole = history(800);
    expect(isClean(await judge(whole.calls, now))).toBe(true);
    for (const lost of whole.grows.filter((_, at) => at % 9 === 0)) {
      const { violations } = await judge(history(800, lost).calls, now);
      expect(violations.length, `${lost} was lost`).toBeGreaterThan(0);
    }
    expect(whole.grows.length).toBeGreaterThan(90);
  });
});

describe('the report', () => {
  const fault = (kind: FaultRecord['kind'], longestGapMs: number): FaultRecord => ({
    ...{ kind, what: 'x', fromS: 1, healedS: 2, wholeS: 4, longestGapMs, refused: 1, unknown: 2 },
    slowestMs: { sdk: longestGapMs, gateway: 1, cluster: 2 },
  });

  test('has one row for each kind, with the worst of its times', () => {
    const rows = rowsOf([fault('kill', 5), fault('pause', 3), fault('kill', 9)]);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ kind: 'kill', times: 2, longestGapMs: 9, unknown: 4 });
    expect(rows[0]).toMatchObject({ longestWholeMs: 2_000, slowestMs: { sdk: 9, cluster: 2 } });
  });

  test('draws every fault and every value', () => {
    const bands = [{ label: 'kill & <pause>', fromS: 1, toS: 2 }];
    const svg = drawPlot({ title: 't', values: [1, 5, 180], bucketS: 1, bands });
    expect(svg).toContain('kill &amp; &lt;pause&gt;');
    expect(svg.match(/points="([^"]*)"/)![1]!.split(' ')).toHaveLength(3);
    expect(svg).toContain('>200</text>');
  });
});
