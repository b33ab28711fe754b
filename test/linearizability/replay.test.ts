/** Histories with places in the log whose verdicts a person can see; and drawn ones, all of them good. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import type { Call } from './history.ts';
import { Keyspace, runCommand, runTransaction } from './keyspace.ts';
import { parseHistory } from './notation.ts';
import { judgePlaces } from './replay.ts';

const good: Readonly<Record<string, string>> = {
  'in the order of the log':
    '0-9 a: SET x 1 = "OK" @ 5.0\n0-9 b: SET x 2 = "OK" @ 4.0\n10-11 c: GET x = "1" @ 5',
  'two commands of an entry':
    '0-9 a: RPUSH l 1 = 2 @ 5.1\n0-9 b: RPUSH l 2 = 1 @ 5.0\n10-11 c: LRANGE l 0 -1 = ["2","1"] @ 9',
  'a read beside a write sees what its entry says':
    '0-9 a: SET x 1 = "OK" @ 5.0\n1-2 b: GET x = null @ 4\n3-4 b: GET x = "1" @ 5',
  'a read while entries are written sees any of them':
    '0-9 a: INCR n = 1 @ 5.0\n0-9 b: INCR n = 2 @ 6.0\n1-2 c: GET n = "1" @ 4..6\n1-2 d: GET n = null @ 4..6\n1-2 e: GET n = "2" @ 4..6',
  'an unknown write that is seen late':
    '0- a: SET x 1\n1-2 b: SET x 2 = "OK" @ 5.0\n3-4 b: GET x = "2" @ 5\n5-6 b: GET x = "1" @ 8',
  'an unknown write that is never seen':
    '0- a: SET x 1\n3-4 b: GET x = null @ 5\n5-6 b: GET x = null @ 8',
  'unknown counts of which some took effect':
    '0- a: INCR n\n0- b: INCR n\n0- c: INCR n\n5-6 d: INCR n = 3 @ 7.0',
  'a write without a place, between what it could be between':
    '0-1 a: INCR n = 1 @ 5.0\n2-3 b: INCR n = 2\n4-5 a: INCR n = 3 @ 9.0',
  'a wait that was served behind a push':
    '0-9 a: BLPOP l 1 = ["l","1"]\n1-2 b: RPUSH l 1 = 1 @ 5.0\n3-4 b: LLEN l = 0 @ 5',
  'a key that expires':
    '0-1 a: SET x 1 PX 100 = "OK" @ 5.0\n50-51 b: GET x = "1" @ 5\n150-151 b: GET x = null @ 6',
  'an unknown SPOP that took some member':
    '0-1 a: SADD s a b c = 3 @ 5.0\n2- b: SPOP s\n7-8 c: SMEMBERS s = ["a","c"] @ 6',
  'a transaction over two keys':
    '0-1 a: MULTI SET x 1, INCR n = ["OK",1] @ 5.0\n2-3 b: MULTI GET x, GET n = ["1","1"] @ 7.1',
  'a compare and set':
    '0-1 a: SET x 1 = "OK" @ 5.0\n2-9 b: x is "1"; MULTI SET x 2 = ["OK"] @ 6.0\n3-4 c: GET x = "1" @ 5',
  'groups of their own': '0-1 a: SET x 1 = "OK" @ g2 t3 50.0\n2-3 a: SET y 1 = "OK" @ g4 t2 7.0',
  'a new leader':
    '0-1 a: SET x 1 = "OK" @ t2 5.0\n2-3 a: SET x 2 = "OK" @ t4 7.0\n4-5 a: GET x = "2" @ t4 7',
};

const bad: Readonly<Record<string, readonly [history: string, finding: RegExp]>> = {
  'a read of what the log says was overwritten': [
    '0-9 a: SET x 1 = "OK" @ 4.0\n0-9 b: SET x 2 = "OK" @ 5.0\n1-8 c: GET x = "1" @ 5',
    /^x: at a read of entry 5 .*GET x.* does not fit \{x=s2\}/,
  ],
  'a read of what comes later in the log': [
    '0-9 a: SET x 1 = "OK" @ 5.0\n1-8 c: GET x = "1" @ 4',
    /^x: at a read of entry 4 .*GET x/,
  ],
  'a read outside of what it may have seen': [
    '0-9 a: INCR n = 1 @ 5.0\n0-9 b: INCR n = 2 @ 6.0\n1-8 c: GET n = "2" @ 4..5\n8-9 d: GET n = "2" @ 9',
    /^n: before .*GET n/,
  ],
  'a write that was told what the log does not give': [
    '0-9 a: INCR n = 2 @ 4.0\n0-9 b: INCR n = 1 @ 5.0',
    /^n: at entry 4\.0 .*INCR n/,
  ],
  'a write that took effect twice': [
    '0-1 a: RPUSH l 1 = 1 @ 4.0\n2-3 b: LRANGE l 0 -1 = ["1","1"] @ 6',
    /^l: at a read of entry 6/,
  ],
  'an acknowledged write that is gone': [
    '0-1 a: SET x 1 = "OK" @ 4.0\n2-3 b: GET x = null @ 6',
    /^x: at a read of entry 6/,
  ],
  'a read older than what was acknowledged, of another key': [
    '0-1 a: SET x 1 = "OK" @ 5.0\n2-3 b: GET y = null @ 4',
    /^group 1: began when another had been answered, and stands at a read of 4, not behind 5\.0/,
  ],
  'a write that goes back in the log': [
    '0-1 a: SET x 1 = "OK" @ 5.0\n2-3 b: SET y 1 = "OK" @ 4.0',
    /^group 1: began when .* stands at 4\.0, not behind 5\.0/,
  ],
  'a write within what was read before it began': [
    '0-1 a: GET x = null @ 5\n2-3 b: SET y 1 = "OK" @ 5.0',
    /^group 1: began when .* stands at 5\.0, not behind a read of 5/,
  ],
  'one entry of two terms': [
    '0-9 a: SET x 1 = "OK" @ t2 5.0\n0-9 b: SET y 1 = "OK" @ t3 5.1',
    /^group 1: entry 5 is of term 2 and of term 3/,
  ],
  'terms that fall': [
    '0-9 a: SET x 1 = "OK" @ t3 5.0\n0-9 b: SET y 1 = "OK" @ t2 6.0',
    /^group 1: entry 5 is of term 3, and 6 of 2/,
  ],
  'two writes at one place': [
    '0-9 a: SET x 1 = "OK" @ 5.0\n0-9 b: SET y 1 = "OK" @ 5.0',
    /^group 1: two writes are command 0 of entry 5/,
  ],
  'a key in two groups': [
    '0-1 a: SET x 1 = "OK" @ g1 5.0\n2-3 b: GET x = "1" @ g2 5',
    /^x: is in groups 1 and 2/,
  ],
  'a write without a place that fits nowhere': [
    '0-1 a: INCR n = 1 @ 5.0\n2-3 b: INCR n = 3\n4-5 a: INCR n = 3 @ 9.0',
    /^n: before entry 9\.0 .*INCR n: 3 does not fit \{n=s1\}/,
  ],
  'a write without a place that is lost': [
    '0-1 a: SET x 1 = "OK"\n2-3 b: GET x = null @ 9',
    /^x: at a read of entry 9/,
  ],
  'an unknown write that is seen before it was sent': [
    '0-1 b: GET x = "1" @ 5\n2- a: SET x 1\n4-5 b: GET x = "1" @ 6',
    /^x: at a read of entry 5/,
  ],
  'an unknown write that took effect twice': [
    '0- a: INCR n\n3-4 b: GET n = "2" @ 5',
    /^n: at a read of entry 5/,
  ],
  'an element served twice': [
    '0-9 a: BLPOP l 1 = ["l","1"]\n0-9 c: LPOP l = "1" @ 6.0\n1-2 b: RPUSH l 1 = 1 @ 5.0\n20-21 b: LLEN l = 0 @ 9',
    /^l: before a read of entry 9 .*BLPOP/,
  ],
  'a key that is there long after its deadline': [
    '0-1 a: SET x 1 PX 100 = "OK" @ 5.0\n300-301 a: SET y 1 = "OK" @ 6.0\n400-401 b: GET x = "1" @ 9',
    /^x: at a read of entry 9/,
  ],
  'a key that is gone long before its deadline': [
    '0-1 a: SET x 1 PX 900 = "OK" @ 5.0\n300-301 b: GET x = null @ 9\n2000-2001 b: GET x = null @ 10',
    /^x: at a read of entry 9/,
  ],
  'half a transaction': [
    '0-1 a: MULTI SET x 1, SET y 1 = ["OK","OK"] @ 5.0\n2-3 b: MULTI GET x, GET y = ["1",null] @ 7.0',
    /^x, y: at entry 7\.0/,
  ],
  'a compare and set on what had changed': [
    '0-1 a: SET x 1 = "OK" @ 5.0\n2-9 c: SET x 3 = "OK" @ 6.0\n2-9 b: x is "1"; MULTI SET x 2 = ["OK"] @ 7.0',
    /^x: at entry 7\.0/,
  ],
};

const slack = { earlyMs: 20, lateMs: 20 };

describe('the replay', () => {
  for (const [name, history] of Object.entries(good)) {
    test(`accepts ${name}`, () => {
      const verdict = judgePlaces(parseHistory(history), slack);
      expect(verdict).toMatchObject({ findings: [], undecided: 0 });
      expect(verdict.parts).toBeGreaterThan(0);
    });
  }
  for (const [name, [history, finding]] of Object.entries(bad)) {
    test(`reports ${name}`, () => {
      const { findings } = judgePlaces(parseHistory(history), slack);
      expect(findings).toHaveLength(1);
      expect(findings[0]).toMatch(finding);
    });
  }

  test('says when there are too many ways, and replays nothing that has no places', () => {
    const unknown = Array.from({ length: 14 }, (_, at) => `0- c${at}: APPEND x ${at}`);
    const seen = parseHistory([...unknown, '5-6 a: GET x = "none" @ 9'].join('\n'));
    expect(judgePlaces(seen)).toEqual({
      ...{ placed: 1, groups: 1, parts: 1, undecided: 1, findings: [] },
    });
    expect(judgePlaces(parseHistory(unknown.join('\n')))).toMatchObject({ parts: 0, placed: 0 });
  });

  test('takes a moment for thirty thousand calls of one key', () => {
    const calls = Array.from({ length: 30_000 }, (_, at): Call => {
      const times = { invokedMs: at, returnedMs: at + 30 };
      const place = { group: 1, term: 1 };
      return at % 2 === 0
        ? {
            ...{ client: 'a', lines: [['INCR', 'n']], ...times, reply: at / 2 + 1 },
            place: { ...place, index: at + 1, upTo: at + 1, at: 0 },
          }
        : {
            ...{ client: 'b', lines: [['GET', 'n']], ...times, reply: String((at + 1) / 2) },
            place: { ...place, index: at, upTo: at, at: -1 },
          };
    });
    const began = process.cpuUsage();
    expect(judgePlaces(calls)).toMatchObject({ findings: [], undecided: 0, placed: 30_000 });
    const { user } = process.cpuUsage(began);
    expect(user).toBeLessThan(10_000_000);
  });
});

const lines = fc.constantFrom(
  ...['GET x', 'INCR n', 'GET n', 'LRANGE l 0 -1', 'LPOP l', 'SMEMBERS s', 'SET x 1', 'SET x 2'],
  ...['SET x 3 NX', 'DEL x', 'APPEND x 5', 'RPUSH l a', 'RPUSH l b', 'RPOP l', 'LLEN l'],
  ...['SADD s a', 'SADD s b', 'SREM s a', 'SPOP s', 'BLPOP l 0'],
);
const drawn = fc.record({
  lines: fc.oneof(
    { weight: 4, arbitrary: lines.map((line) => [line]) },
    { weight: 1, arbitrary: fc.array(lines, { minLength: 2, maxLength: 3 }) },
  ),
  before: fc.nat({ max: 30 }),
  behind: fc.nat({ max: 30 }),
  told: fc.constantFrom('all', 'all', 'all', 'all', 'range', 'reply', 'nothing', 'never'),
});

type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

/** One takes effect every 10 ms, each write in the next entry. */
function happen(all: readonly Drawn[]): Call[] {
  let state = new Keyspace();
  let index = 1;
  return all.map(({ lines: sent, before, behind, told }, number) => {
    const words = sent.map((line) => line.split(' '));
    const isTransaction = words.length > 1;
    const isRead = !isTransaction && /^(?:GET|LRANGE|LLEN|SMEMBERS)$/.test(words[0]![0]!);
    const moment = number * 10;
    if (!isRead) index++;
    const ran = isTransaction ? runTransaction(state, words) : runCommand(state, words[0]!);
    if (told !== 'never') state = ran.state;
    const isKnown = told !== 'nothing' && told !== 'never';
    const upTo = index + (told === 'range' && isRead ? 2 : 0);
    const place = { group: 1, term: 1, index, upTo, at: isRead ? -1 : 0 };
    return {
      ...{ client: `c${number}`, lines: words, isTransaction, invokedMs: moment - before },
      returnedMs: isKnown ? moment + behind : Number.POSITIVE_INFINITY,
      ...(isKnown && { reply: ran.reply }),
      ...(isKnown && told !== 'reply' && { place }),
    };
  });
}

test('what happened is accepted, whatever of it was told', () => {
  const runs = scale.linearizableHistories;
  let decided = 0;
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 40 }), (all) => {
      const { findings, undecided } = judgePlaces(happen(all));
      expect(findings).toEqual([]);
      if (undecided === 0) decided++;
    }),
    { numRuns: runs },
  );
  expect(decided).toBeGreaterThan(runs / 2);
});
