/** Histories whose verdicts a person can see, and some that are too large to tell. */
import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../cpu-time.ts';
import { judgeHistory, partsOf } from './history.ts';
import { parseHistory } from './notation.ts';

const good: Readonly<Record<string, string>> = {
  'a read behind a write': '0-10 a: SET x 1 = "OK"\n11-12 b: GET x = "1"',
  'a read beside a write sees the old value': '0-10 a: SET x 1 = "OK"\n5-6 b: GET x = null',
  'a read beside a write sees the new value': '0-10 a: SET x 1 = "OK"\n5-6 b: GET x = "1"',
  'intervals that touch overlap': '0-10 a: SET x 1 = "OK"\n10-12 b: GET x = null',
  'a read of nothing': '0-1 a: GET x = null',
  'two writes beside each other, either order':
    '0-10 a: SET x 1 = "OK"\n0-10 b: SET x 2 = "OK"\n11-12 c: GET x = "1"',
  'an unknown write that is never seen': '0- a: SET x 1\n5-6 b: GET x = null\n7-8 b: GET x = null',
  'an unknown write that is seen late': '0- a: SET x 1\n5-6 b: GET x = null\n90-91 b: GET x = "1"',
  'an unknown write between two others':
    '0- a: SET x 1\n5-6 b: SET x 2 = "OK"\n7-8 b: GET x = "1"\n9-10 b: SET x 3 = "OK"',
  'an unknown read': '0- a: GET x\n1-2 b: SET x 1 = "OK"\n3-4 b: GET x = "1"',
  'SET NX: one of two wins':
    '0-10 a: SET x 1 NX = null\n0-10 b: SET x 2 NX = "OK"\n11-12 c: GET x = "2"',
  'SETNX behind DEL':
    '0-1 a: SETNX x 1 = 1\n2-3 a: SETNX x 2 = 0\n4-5 a: DEL x = 1\n6-7 a: SETNX x 3 = 1',
  'GETSET hands values on':
    '0-9 a: GETSET x 1 = null\n0-9 b: GETSET x 2 = "3"\n0-9 c: GETSET x 3 = "1"',
  'SET GET hands values on': '0-1 a: SET x 1 GET = null\n2-3 a: SET x 2 GET = "1"',
  'SET XX needs a value':
    '0-1 a: SET x 1 XX = null\n2-3 a: SET x 1 = "OK"\n4-5 a: SET x 2 XX = "OK"',
  'compare and set by WATCH':
    '0-1 a: SET x 1 = "OK"\n2-9 b: x is "1"; MULTI SET x 2 = ["OK"]\n10-11 c: GET x = "2"',
  'an unknown compare and set that came too late':
    '0-1 a: SET x 1 = "OK"\n2- b: x is "1"; MULTI SET x 2\n3-4 a: SET x 3 = "OK"\n5-6 c: GET x = "3"',
  counters: '0-9 a: INCR n = 2\n0-9 b: INCR n = 1\n10-11 c: INCRBY n 5 = 7\n12-13 c: DECR n = 6',
  'unknown counts of which some took effect':
    '0- a: INCR n\n0- b: INCR n\n0- c: INCR n\n5-6 d: INCR n = 3\n7-8 d: GET n = "3"',
  'a set whose members come in any order':
    '0-9 a: SADD s b = 1\n0-9 b: SADD s a = 1\n10-11 c: SMEMBERS s = ["b","a"]\n12-13 c: SCARD s = 2',
  'a set that empties': '0-1 a: SADD s a = 1\n2-3 a: SREM s a = 1\n4-5 a: SISMEMBER s a = 0',
  'an unknown SADD that is seen once': '0- a: SADD s a\n1-2 b: SADD s a = 0',
  'SPOP takes what it tells':
    '0-1 a: SADD s a b c = 3\n2-3 a: SPOP s = "b"\n4-5 b: SMEMBERS s = ["c","a"]\n6-7 b: SPOP s 5 = ["c","a"]\n8-9 a: SPOP s = null\n10-11 a: SPOP s 2 = []',
  'SPOP beside each other share the members':
    '0-1 a: SADD s a b = 2\n2-9 b: SPOP s = "b"\n2-9 c: SPOP s = "a"\n10-11 a: SCARD s = 0',
  'an unknown SPOP that took some member':
    '0-1 a: SADD s a b c = 3\n2- b: SPOP s\n5-6 c: SCARD s = 3\n7-8 c: SMEMBERS s = ["a","c"]',
  'an unknown SPOP that never took one':
    '0-1 a: SADD s a b = 2\n2- b: SPOP s\n50-51 c: SMEMBERS s = ["a","b"]',
  'two unknown SPOPs that took a member each':
    '0-1 a: SADD s a b c = 3\n2- b: SPOP s\n2- d: SPOP s\n5-6 c: SMEMBERS s = ["b"]',
  'an unknown SPOP of two': '0-1 a: SADD s a b c = 3\n2- b: SPOP s 2\n5-6 c: SMEMBERS s = ["c"]',
  'an unknown SPOP behind a later SADD':
    '0- b: SPOP s\n5-6 a: SADD s a = 1\n7-8 a: SADD s a = 1\n9-10 c: SCARD s = 1',
  'SPOP within a transaction':
    '0-1 a: MULTI SADD s a b, SPOP s, SCARD s = [2,"b",1]\n2- b: MULTI SPOP s, INCR n\n4-5 c: SCARD s = 0\n6-7 c: GET n = "1"',
  'SRANDMEMBER shows what is there':
    '0-1 a: SADD s a b = 2\n2-3 a: SRANDMEMBER s = "b"\n4-5 a: SRANDMEMBER s 3 = ["b","a"]\n6-7 a: SRANDMEMBER s -3 = ["b","b","b"]\n8-9 a: SRANDMEMBER t = null\n10- a: SRANDMEMBER s',
  'pushes beside each other':
    '0-9 a: RPUSH l 1 = 2\n0-9 b: RPUSH l 2 = 1\n10-11 c: LRANGE l 0 -1 = ["2","1"]',
  'pops share a list':
    '0-1 a: RPUSH l 1 2 = 2\n2-9 b: LPOP l = "2"\n2-9 c: LPOP l = "1"\n10-11 a: LLEN l = 0',
  'LPUSH and RPOP': '0-1 a: LPUSH l 1 2 = 2\n2-3 a: RPOP l = "1"\n4-5 a: RPOP l = "2"',
  'a blocking pop that waits for its push': '0-20 a: BLPOP l 5 = ["l","1"]\n10-12 b: RPUSH l 1 = 1',
  'a blocking pop in vain': '0-20 a: BLPOP l 1 = null\n15-30 b: RPUSH l 1 = 1',
  'an unknown blocking pop that took an element':
    '0- a: BLPOP l 1\n5-6 b: RPUSH l 1 = 1\n8-9 b: LLEN l = 0',
  'a transaction over two keys':
    '0-9 a: MULTI SET x 1, SET y 1 = ["OK","OK"]\n3-4 b: GET y = "1"\n5-6 b: GET x = "1"',
  'a transaction that reads what it wrote': '0-1 a: MULTI INCR n, GET n, RPUSH l 1 = [1,"1",1]',
  'an unknown transaction that is seen as a whole':
    '0- a: MULTI SET x 1, SET y 1\n5-6 b: GET x = "1"\n7-8 b: GET y = "1"',
  'an error that fits': '0-1 a: RPUSH l 1 = 1\n2-3 a: INCR l = "-WRONGTYPE whatever"',
  'a deadline that has passed':
    '0-1 a: SET x 1 PX 50 = "OK"\n20-21 a: GET x = "1"\n60-61 a: GET x = null',
  'a deadline that a later write takes away':
    '0-1 a: SET x 1 PX 50 = "OK"\n20-21 a: SET x 2 = "OK"\n90-91 a: GET x = "2"',
};

const bad: Readonly<Record<string, string>> = {
  'a stale read': '0-1 a: SET x 1 = "OK"\n2-3 a: SET x 2 = "OK"\n4-5 b: GET x = "1"',
  'a lost write': '0-10 a: SET x 1 = "OK"\n11-12 b: GET x = null',
  'a value of nobody': '0-1 a: GET x = "7"',
  'two readers beside a write that go back':
    '0-10 a: SET x 1 = "OK"\n2-3 b: GET x = "1"\n4-5 c: GET x = null',
  'readers that disagree on the order':
    '0-10 a: SET x 1 = "OK"\n0-10 b: SET x 2 = "OK"\n11-12 c: GET x = "2"\n13-14 c: GET x = "1"',
  'an unknown write that took effect twice':
    '0- a: SET x 1\n2-3 b: SET x 2 = "OK"\n4-5 b: GET x = "1"\n6-7 b: SET x 3 = "OK"\n8-9 b: GET x = "1"',
  'a write that took effect before it was sent': '0-1 b: GET x = "1"\n2-3 a: SET x 1 = "OK"',
  'SET NX: both win': '0-10 a: SET x 1 NX = "OK"\n0-10 b: SET x 2 NX = "OK"',
  'SET NX: nobody wins': '0-10 a: SET x 1 NX = null\n0-10 b: SET x 2 NX = null',
  'GETSET hands one value to two':
    '0-1 c: SET x 0 = "OK"\n2-9 a: GETSET x 1 = "0"\n2-9 b: GETSET x 2 = "0"',
  'compare and set: both win':
    '0-1 a: SET x 0 = "OK"\n2-9 b: x is "0"; MULTI SET x 1 = ["OK"]\n2-9 c: x is "0"; MULTI SET x 2 = ["OK"]',
  'a count that is told twice': '0-9 a: INCR n = 1\n0-9 b: INCR n = 1',
  'a lost count': '0-1 a: INCR n = 1\n2-3 a: INCR n = 2\n4-5 b: GET n = "1"',
  'a count twice by one unknown INCR': '0- a: INCR n\n1-2 b: INCR n = 3',
  'more counts than unknown ones': '0- a: INCR n\n0- b: INCR n\n1-2 c: INCR n = 4',
  'a member that vanishes': '0-1 a: SADD s a = 1\n2-3 b: SMEMBERS s = []',
  'a member that two add': '0-9 a: SADD s a = 1\n0-9 b: SADD s a = 1',
  'a removed member is there': '0-1 a: SADD s a = 1\n2-3 a: SREM s a = 1\n4-5 b: SISMEMBER s a = 1',
  'SPOP of one that is not there': '0-1 a: SADD s a b = 2\n2-3 a: SPOP s = "c"',
  'SPOP of nothing while there is a member': '0-1 a: SADD s a = 1\n2-3 b: SPOP s = null',
  'a member that two SPOPs take': '0-1 a: SADD s a b = 2\n2-9 b: SPOP s = "a"\n2-9 c: SPOP s = "a"',
  'a member that SPOP took and is there':
    '0-1 a: SADD s a b = 2\n2-3 a: SPOP s = "a"\n4-5 b: SISMEMBER s a = 1',
  'an unknown SPOP that took two':
    '0-1 a: SADD s a b c = 3\n2- b: SPOP s\n5-6 c: SMEMBERS s = ["c"]',
  'an unknown SPOP that took one and then another':
    '0-1 a: SADD s a b = 2\n2- b: SPOP s\n5-6 c: SMEMBERS s = ["a"]\n7-8 c: SADD s b = 1\n9-10 c: SMEMBERS s = ["b"]',
  'an unknown SPOP that took effect before it was sent':
    '0-1 a: SADD s a b = 2\n2-3 c: SCARD s = 1\n5- b: SPOP s',
  'an unknown SPOP of two that took one':
    '0-1 a: SADD s a b c = 3\n2- b: SPOP s 2\n5-6 c: SMEMBERS s = ["a","c"]',
  'fewer by SPOP than asked for': '0-1 a: SADD s a b c = 3\n2-3 b: SPOP s 2 = ["a"]',
  'the same twice by SPOP': '0-1 a: SADD s a b c = 3\n2-3 b: SPOP s 2 = ["a","a"]',
  'half of an unknown transaction with SPOP':
    '0-1 a: SADD s a = 1\n2- b: MULTI SPOP s, INCR n\n4-5 c: SCARD s = 0\n6-7 c: GET n = null',
  'SRANDMEMBER of a member that is gone':
    '0-1 a: SADD s a b = 2\n2-3 a: SREM s a = 1\n4-5 b: SRANDMEMBER s = "a"',
  'one member twice by SRANDMEMBER': '0-1 a: SADD s a b = 2\n2-3 a: SRANDMEMBER s 2 = ["a","a"]',
  'a push that is lost': '0-1 a: RPUSH l 1 = 1\n2-3 b: RPUSH l 2 = 1',
  'a push that came twice': '0-1 a: RPUSH l 1 = 1\n2-3 b: LRANGE l 0 -1 = ["1","1"]',
  'pushes whose order changes':
    '0-9 a: RPUSH l 1 = 1\n0-9 b: RPUSH l 2 = 2\n10-11 c: LRANGE l 0 -1 = ["2","1"]',
  'an element that two pop': '0-1 a: RPUSH l 1 = 1\n2-9 b: LPOP l = "1"\n2-9 c: LPOP l = "1"',
  'a blocking pop in vain while there was an element':
    '0-1 b: RPUSH l 1 = 1\n2-20 a: BLPOP l 1 = null\n30-31 b: LLEN l = 1',
  'a blocking pop of an element that another has':
    '0-20 a: BLPOP l 5 = ["l","1"]\n0-20 c: BLPOP l 5 = ["l","1"]\n10-12 b: RPUSH l 1 = 1',
  'half of a transaction':
    '0-9 a: MULTI SET x 1, SET y 1 = ["OK","OK"]\n3-4 b: GET y = "1"\n5-6 b: GET x = null',
  'half of an unknown transaction':
    '0- a: MULTI SET x 1, SET y 1\n5-6 b: GET x = "1"\n7-8 b: GET y = null',
  'a transaction whose replies are of two moments':
    '0-1 a: MULTI INCR n, INCR m = [1,1]\n2-3 b: MULTI GET n, GET m = ["1",null]',
  'an error that does not fit': '0-1 a: INCR n = "-WRONGTYPE whatever"',
  'a key that outlives its deadline': '0-1 a: SET x 1 PX 50 = "OK"\n99-100 a: GET x = "1"',
  'a key that vanishes before its deadline': '0-1 a: SET x 1 PX 50 = "OK"\n20-21 a: GET x = null',
  'an expired key that shows again':
    '0-9 a: SET x 1 PX 50 = "OK"\n52-53 a: GET x = null\n54-55 a: GET x = "1"',
};

describe('what has an order', () => {
  test.each(Object.entries(good))('%s', (_name, text) => {
    expect(judgeHistory(parseHistory(text))).toEqual([]);
  });
});

describe('what has none', () => {
  test.each(Object.entries(bad))('%s', (_name, text) => {
    const findings = judgeHistory(parseHistory(text));
    expect(findings.map(({ finding }) => finding.verdict)).toEqual(['no']);
  });
});

test('a finding says how far the history can be explained, and what then does not fit', () => {
  const [found] = judgeHistory(parseHistory(bad['a stale read']!));
  expect(found).toMatchObject({
    keys: ['x'],
    finding: { explained: 2, stuck: ['4.0–5.0 b GET x: "1"'], state: 'x=s2' },
  });
});

test('keys are judged apart, but for those that a transaction joins', () => {
  const calls = parseHistory(`
    0-1 a: SET x 1 = "OK"
    0-1 a: SET y 1 = "OK"
    2-3 a: SET z 1 = "OK"
    4-5 a: MULTI GET x, GET z = ["1","1"]
    6-7 a: z is "1"; MULTI SET w 1 = ["OK"]`);
  expect(partsOf(calls).map(({ keys }) => keys.toSorted())).toEqual([['w', 'x', 'z'], ['y']]);
});

test('a deadline may be judged by a clock that is off, within the slack', () => {
  const slack = { earlyMs: 10, lateMs: 10 };
  const judge = (text: string) => judgeHistory(parseHistory(text), slack).length;
  expect(judge('0-1 a: SET x 1 PX 50 = "OK"\n42-43 a: GET x = null')).toBe(0);
  expect(judge('0-1 a: SET x 1 PX 50 = "OK"\n38-39 a: GET x = null')).toBe(1);
  expect(judge('0-1 a: SET x 1 PX 50 = "OK"\n59-60 a: GET x = "1"')).toBe(0);
  expect(judge('0-1 a: SET x 1 PX 50 = "OK"\n62-63 a: GET x = "1"')).toBe(1);
});

test('what cannot be told in the given bounds says where to split', () => {
  const pushes = Array.from({ length: 12 }, (_, at) => `0-100 c${at}: RPUSH l ${at} = ${at + 1}`);
  const impossible = [...pushes, '101-102 r: LRANGE l 0 -1 = ["none"]'].join('\n');
  const bounds = { stepsMax: 2_000, memoryMax: 1_000_000 };
  const hard = [...pushes.map((line) => line.replace(/ = .*/, '')), '101-102 r: LLEN l = 13'];
  const [found] = judgeHistory(parseHistory(hard.join('\n')), undefined, bounds);
  expect(found?.finding).toMatchObject({ verdict: 'undecided' });
  expect(found?.finding).toHaveProperty(
    'why',
    'too large: 2000 orders were tried; split it at 101.0, where 13 calls overlap, ' +
      '12 of them with an unknown outcome',
  );
  const [small] = judgeHistory(parseHistory(hard.join('\n')), undefined, {
    stepsMax: 1e9,
    memoryMax: 100_000,
  });
  expect(small?.finding).toHaveProperty('why', expect.stringContaining('the memory is full'));
  expect(judgeHistory(parseHistory(impossible))[0]?.finding.verdict).toBe('no');
});

test('a long history of some clients is decided in a time that grows as it does', () => {
  const lines: string[] = [];
  for (let at = 0; at < 20_000; at++) {
    const from = at * 10;
    lines.push(`${from}-${from + 35} a${at % 4}: SET x ${at} = "OK"`);
    if (at % 50 === 0) lines.push(`${from}- u: SET x u${at}`);
  }
  lines.push('300000-300001 r: GET x = "19999"');
  const cpuMs = cpuMsOf(() => {
    expect(judgeHistory(parseHistory(lines.join('\n')))).toEqual([]);
  });
  expect(cpuMs).toBeLessThan(30_000);
});
