/**
 * Histories of keys with deadlines, judged with a slack in which many deadlines overlap: some that a
 * person can see, those of a run with clocks that are off, and small ones beside a search of every
 * order, deadlines among them.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { type Call, deadlines, judgePart, type Slack } from './history.ts';
import { Keyspace, type Reply, runCommand, runTransaction } from './keyspace.ts';
import { parseHistory } from './notation.ts';

const slackOf = (ms: number): Slack => ({ earlyMs: ms, lateMs: ms });
const verdict = (text: string, slack: number) =>
  judgePart(parseHistory(text), slackOf(slack)).verdict;

/** 20 deadlines may come while x is read as gone; that of its value came 1,140 ms early. */
const crowded = `
  79-101 a: SET x 1 PX 657 = "OK"
  206-218 b: GET x = "1"
  265-279 c: SET x 2 PX 1020 = "OK"
  299-312 b: GET x = "2"
  311-326 a: SET x 3 PX 301 = "OK"
  326-335 d: SET x 4 PX 1174 = "OK"
  338-341 b: GET x = "4"
  407-422 e: SET x 5 PX 1153 = "OK"
  439-445 c: GET x = "5"
  514-530 f: SET x 6 PX 1317 = "OK"
  747-751 a: GET x = "6"
  772-804 e: SET x 7 PX 836 = "OK"
  822-853 f: GET x = "7"
  836-846 d: GET x = "7"
  1110-1128 b: SET x 8 PX 452 = "OK"
  1136-1163 c: SET x 9 PX 1029 = "OK"
  1219-1246 d: SET x 10 PX 1258 = "OK"
  1275-1286 d: SET x 11 PX 1185 = "OK"
  1289-1309 f: SET x 12 PX 1369 = "OK"
  1321-1346 e: SET x 13 PX 817 = "OK"
  1373-1387 b: GET x = "13"
  1378-1389 d: SET x 14 PX 857 = "OK"
  1381-1393 a: GET x = "14"
  1560-1578 e: SET x 15 PX 967 = "OK"
  1636-1654 f: GET x = "15"
  1745-1755 c: SET x 16 PX 986 = "OK"
  1753-1759 e: GET x = "16"
  1821-1826 b: SET x 17 PX 711 = "OK"
  1899-1911 d: GET x = "17"
  1899-1917 f: SET x 18 PX 1249 = "OK"
  1910-1928 b: GET x = "18"
  2012-2023 a: SET x 19 PX 1433 = "OK"
  2152-2173 b: SET x 20 PX 1342 = "OK"
  2184-2203 b: GET x = "20"
  2222-2234 c: GET x = "20"
  2350-2354 d: GET x = null
  2363-2370 a: GET x = null
  2386-2389 e: GET x = null
  2462-2467 d: SET x 21 PX 515 = "OK"
  2475-2477 a: GET x = "21"
  2649-2669 e: SET x 22 PX 574 = "OK"
  2722-2742 f: SET x 23 PX 649 = "OK"
  2840-2850 b: GET x = "23"`;

const told: readonly (readonly [name: string, history: string, slack: number, verdict: string])[] =
  [
    ['gone too early among many deadlines', crowded, 1_100, 'no'],
    ['gone early within the slack among many deadlines', crowded, 1_200, 'yes'],
    [
      'there too late among many deadlines',
      `${crowded}\n5000-5001 a: SET x 24 PX 300 = "OK"\n6402-6403 a: GET x = "24"`,
      1_200,
      'yes',
    ],
    [
      'there later than the slack among many deadlines',
      `${crowded}\n5000-5001 a: SET x 24 PX 300 = "OK"\n6502-6503 a: GET x = "24"`,
      1_200,
      'no',
    ],
    // its deadline may be before its call: that does not take it away
    ['there for ever', '0-10 a: SET x 1 PX 300 = "OK"\n5000-5001 b: GET x = "1"', 1_100, 'no'],
    ['gone at once', '0-10 a: SET x 1 PX 300 = "OK"\n11-12 b: GET x = null', 1_100, 'yes'],
    [
      'gone at once and back',
      '0-10 a: SET x 1 PX 300 = "OK"\n11-12 b: GET x = null\n13-14 b: GET x = "1"',
      1_100,
      'no',
    ],
    [
      'the deadline of an unknown SET that never took effect',
      '0- a: SET x 1 PX 100\n1-2 b: SET x 2 = "OK"\n3000-3001 b: GET x = "2"',
      50,
      'yes',
    ],
    [
      'the deadline of an unknown SET that took effect late',
      '0- a: SET x 1 PX 100\n900-901 b: GET x = null\n1000-1001 b: GET x = "1"\n1010-1011 b: GET x = null',
      50,
      'yes',
    ],
    [
      'gone before the deadline of an unknown SET can be',
      '0- a: SET x 1 PX 100\n1-2 b: SET x 2 = "OK"\n40-41 b: GET x = null',
      50,
      'no',
    ],
    [
      'gone by the deadline of an unknown SET behind another',
      '0- a: SET x 1 PX 100\n1-2 b: SET x 2 = "OK"\n50-51 b: GET x = null',
      50,
      'yes',
    ],
    [
      'deadlines of a transaction, of which one is late and the other early',
      '0-1 a: MULTI SET x 1 PX 100, SET y 2 PX 100 = ["OK","OK"]\n149-150 b: MULTI GET x, GET y = ["1",null]\n152-153 b: GET x = null',
      50,
      'yes',
    ],
    [
      'a deadline of a transaction that comes too late',
      '0-1 a: MULTI SET x 1 PX 100, SET y 2 PX 100 = ["OK","OK"]\n152-153 b: MULTI GET x, GET y = ["1",null]',
      50,
      'no',
    ],
    [
      'the deadline of a value that the same transaction overwrites',
      '0-1 a: MULTI SET x 1 PX 100, SET x 2 = ["OK","OK"]\n952-953 b: GET x = "2"',
      50,
      'yes',
    ],
    [
      'an unknown transaction that draws, and its deadline',
      '0-1 a: SADD s a b = 2\n2- a: MULTI SPOP s, SET x 1 PX 100\n3-4 b: GET x = "1"\n70-71 b: GET x = null\n72-73 b: SCARD s = 1',
      50,
      'yes',
    ],
    [
      'SET NX that was refused',
      '0-1 a: SET x 1 = "OK"\n2-3 b: SET x 2 NX PX 100 = null',
      50,
      'yes',
    ],
    [
      'SET GET of a key that was not there',
      '0-1 a: SET x 1 GET PX 100 = null\n100-101 b: GET x = null',
      0,
      'yes',
    ],
    [
      'SET GET of a key that was not there, and its deadline late',
      '0-1 a: SET x 1 GET PX 100 = null\n102-103 b: GET x = "1"',
      0,
      'no',
    ],
  ];

describe('deadlines', () => {
  test.each(told)('%s', (_name, history, slack, expected) => {
    const began = process.cpuUsage();
    expect(verdict(history, slack)).toBe(expected);
    // a few milliseconds; when every deadline was a choice of its own, the crowded never ended
    expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
  });
});

interface Drawn {
  readonly words: readonly string[] | 'SET PX' | 'MULTI';
  readonly gap: number;
  /** How long before its moment it was sent, and how long behind it was answered. */
  readonly before: number;
  readonly behind: number;
  readonly ttlMs: number;
  /** How far its deadline is from where it should be. */
  readonly offMs: number;
  readonly unknown: 'no' | 'done' | 'never';
}

const SLACK = slackOf(110);

/** About ten deadlines overlap. */
const drawn: fc.Arbitrary<Drawn> = fc.record({
  words: fc.constantFrom<Drawn['words'][]>(
    ...(['SET PX', 'SET PX', 'SET PX', 'MULTI'] as const),
    ...[
      ['GET', 'x'],
      ['GET', 'x'],
      ['GET', 'y'],
      ['DEL', 'x'],
      ['SET', 'x', 'plain'],
    ],
  ),
  ...{ gap: fc.nat({ max: 20 }), before: fc.nat({ max: 20 }), behind: fc.nat({ max: 20 }) },
  ttlMs: fc.integer({ min: 30, max: 150 }),
  offMs: fc.integer({ min: -110, max: 110 }),
  unknown: fc.constantFrom('no', 'no', 'no', 'no', 'no', 'no', 'done', 'never'),
});

function linesOf({ words, ttlMs }: Drawn, at: number): readonly (readonly string[])[] {
  const set = (key: string) => ['SET', key, `v${at}`, 'PX', String(ttlMs)];
  if (words === 'MULTI') return [set('x'), set('y'), ['GET', 'x']];
  return [words === 'SET PX' ? set('x') : words];
}

/** One takes effect after the other, and keys vanish when their deadlines come. */
function happen(all: readonly Drawn[]): Call[] {
  let state = new Keyspace();
  let moment = 0;
  let due: { readonly at: number; readonly step: (state: Keyspace) => Keyspace }[] = [];
  return all.map((one, at) => {
    moment += one.gap;
    state = due.filter((each) => each.at <= moment).reduce((now, { step }) => step(now), state);
    due = due.filter((each) => each.at > moment);
    const lines = linesOf(one, at);
    const isTransaction = lines.length > 1;
    const isKnown = one.unknown === 'no';
    const sent = { client: `c${at}`, lines, isTransaction, invokedMs: moment - one.before };
    let reply: Reply | undefined;
    if (one.unknown !== 'never') {
      const ran = isTransaction ? runTransaction(state, lines) : runCommand(state, lines[0]!);
      state = ran.state;
      reply = ran.reply;
      const dueAt = moment + one.ttlMs + one.offMs;
      const steps = deadlines({ ...sent, returnedMs: moment }, SLACK);
      due.push(...steps.map(({ step }) => ({ at: dueAt, step })));
    }
    const returnedMs = isKnown ? moment + one.behind : Number.POSITIVE_INFINITY;
    return { ...sent, returnedMs, ...(isKnown && { reply: reply! }) };
  });
}

const judged = (calls: readonly Call[]) => judgePart(calls, SLACK).verdict;

test('what vanished within the slack is accepted', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 80 }), (all) => {
      expect(judged(happen(all))).toBe('yes');
    }),
    { numRuns: scale.linearizableHistories },
  );
});

test('what vanished too early, or too late, is refused to the millisecond', () => {
  const verdicts = { yes: 0, no: 0, undecided: 0 };
  const bent = fc.record({
    all: fc.array(drawn, { minLength: 1, maxLength: 60 }),
    ...{ isEarly: fc.boolean(), offMs: fc.integer({ min: -20, max: 20 }), tookMs: fc.nat(9) },
  });
  fc.assert(
    fc.property(bent, ({ all, isEarly, offMs, tookMs }) => {
      // an unknown call may take a value away at any time behind it
      const known = all.map((one): Drawn => ({ ...one, unknown: isEarly ? 'no' : one.unknown }));
      const calls = happen(known);
      const at = all.reduce((sum, { gap }) => sum + gap, 0) + 30;
      const [from, to] = isEarly ? [at, at + 500 - 110] : [at + tookMs, at + tookMs + 500 + 110];
      const middle = (from + to) / 2;
      const moment = (isEarly ? from + 390 : to) + offMs;
      const read = isEarly
        ? `${moment - tookMs}-${moment} a: GET x = null`
        : `${moment}-${moment + tookMs} a: GET x = "last"`;
      const last = parseHistory(`
        ${at}-${at + tookMs} a: SET x last PX 500 = "OK"
        ${Math.floor(middle)}-${Math.ceil(middle)} a: GET x = "last"
        ${read}`);
      const found = judged([...calls, ...last]);
      verdicts[found]++;
      expect(found).toBe((isEarly ? offMs >= 0 : offMs <= 0) ? 'yes' : 'no');
    }),
    { numRuns: scale.linearizableHistories },
  );
  expect(Math.min(verdicts.yes, verdicts.no)).toBeGreaterThan(scale.linearizableHistories / 5);
});

interface Step {
  readonly invokedMs: number;
  readonly returnedMs: number;
  readonly behind?: Step;
  readonly step: (state: Keyspace) => Keyspace | undefined;
}

function stepsOf(call: Call): readonly Step[] {
  const { lines, isTransaction, invokedMs, returnedMs, reply } = call;
  const own: Step = {
    ...{ invokedMs, returnedMs },
    step(state) {
      const ran = isTransaction ? runTransaction(state, lines) : runCommand(state, lines[0]!);
      const fits = reply === undefined || JSON.stringify(ran.reply) === JSON.stringify(reply);
      return fits ? ran.state : undefined;
    },
  };
  return [own, ...deadlines(call, SLACK).map((one): Step => ({ ...one, behind: own }))];
}

/**
 * Tries every order of calls and deadlines, each deadline behind its own; nothing clever in it but
 * that it tries no rest from one state twice.
 */
function hasOrder(
  steps: readonly Step[],
  state = new Keyspace(),
  left = new Set(steps.keys()),
  tried = new Set<string>(),
): boolean {
  const rest = [...left].map((at) => steps[at]!);
  if (rest.every(({ returnedMs }) => returnedMs === Number.POSITIVE_INFINITY)) return true;
  const name = `${[...left].join()} ${state.text}`;
  if (tried.has(name)) return false;
  tried.add(name);
  return [...left].some((at) => {
    const { behind, invokedMs, step } = steps[at]!;
    if (behind !== undefined && rest.includes(behind)) return false;
    if (rest.some(({ returnedMs }) => returnedMs < invokedMs)) return false;
    const next = step(state);
    const others = new Set([...left].filter((other) => other !== at));
    return next !== undefined && hasOrder(steps, next, others, tried);
  });
}

test('a bent history is refused exactly when no order of calls and deadlines explains it', () => {
  const verdicts = { yes: 0, no: 0, undecided: 0 };
  const bent = fc.record({
    all: fc.array(drawn, { minLength: 2, maxLength: 6 }),
    ...{ victim: fc.nat(), donor: fc.nat(), how: fc.constantFrom('reply', 'time', 'ttl') },
    byMs: fc.integer({ min: -300, max: 300 }),
  });
  fc.assert(
    fc.property(bent, ({ all, victim, donor, how, byMs }) => {
      const changed = all.map((one, at) => {
        const isOff = how === 'ttl' && at === victim % all.length;
        return isOff ? { ...one, offMs: byMs } : one;
      });
      const calls = happen(changed);
      const known = calls.filter(({ reply }) => reply !== undefined);
      if (known.length === 0) return;
      const one = known[victim % known.length]!;
      const { invokedMs, returnedMs } = one;
      const { reply } = known[donor % known.length]!;
      const moved = { ...one, invokedMs: invokedMs + byMs, returnedMs: returnedMs + byMs };
      const other = how === 'time' ? moved : how === 'reply' ? { ...one, reply: reply! } : one;
      const history = calls.map((call) => (call === one ? other : call));
      const found = judged(history);
      verdicts[found]++;
      expect(found).toBe(hasOrder(history.flatMap(stepsOf)) ? 'yes' : 'no');
    }),
    { numRuns: scale.linearizableHistories * 3 },
  );
  // both happen often enough for the comparison to mean something
  expect(Math.min(verdicts.yes, verdicts.no)).toBeGreaterThan(scale.linearizableHistories / 5);
  expect(verdicts.undecided).toBe(0);
});
