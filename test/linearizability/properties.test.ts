/**
 * Histories drawn at random: those of a run that took effect one call at a time are accepted; with a
 * reply or a time bent they are refused exactly when trying every order finds none.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { type Call, judgePart } from './history.ts';
import { Keyspace, type Reply, runCommand, runTransaction } from './keyspace.ts';

const lines = fc.oneof(
  fc.constantFrom(...['GET x', 'INCR n', 'GET n', 'LRANGE l 0 -1', 'LPOP l', 'SMEMBERS s']),
  fc.constantFrom(...['SET x 1', 'SET x 2', 'SET x 3 NX', 'GETSET x 4', 'DEL x', 'APPEND x 5']),
  fc.constantFrom(...['RPUSH l a', 'RPUSH l b', 'LPUSH l c', 'BLPOP l 0', 'RPOP l', 'LLEN l']),
  fc.constantFrom(...['SADD s a', 'SADD s b', 'SREM s a', 'SISMEMBER s a', 'SCARD s']),
  fc.constantFrom(...['SADD s c', 'SPOP s', 'SPOP s 2', 'SRANDMEMBER s']),
);
const command = lines.map((line) => [line.split(' ')]);
const transaction = fc.array(lines, { minLength: 2, maxLength: 3 });

interface Drawn {
  readonly lines: readonly (readonly string[])[];
  readonly isTransaction: boolean;
  /** How long before its moment it was sent, and how long behind it was answered. */
  readonly before: number;
  readonly behind: number;
  readonly unknown: 'no' | 'done' | 'never';
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  ...{ before: fc.nat({ max: 30 }), behind: fc.nat({ max: 30 }) },
  unknown: fc.constantFrom('no', 'no', 'no', 'no', 'done', 'never'),
  lines: fc.oneof(
    { weight: 4, arbitrary: command },
    { weight: 1, arbitrary: transaction.map((all) => all.map((line) => line.split(' '))) },
  ),
  isTransaction: fc.constant(false),
});

/** One takes effect every 10 ms. */
function happen(all: readonly Drawn[]): Call[] {
  let state = new Keyspace();
  return all.map(({ lines: words, before, behind, unknown }, at) => {
    const moment = at * 10;
    const isTransaction = words.length > 1;
    let reply: Reply = null;
    if (unknown !== 'never') {
      const ran = isTransaction ? runTransaction(state, words) : runCommand(state, words[0]!);
      state = ran.state;
      reply = ran.reply;
    }
    return {
      client: `c${at}`,
      lines: words,
      isTransaction,
      invokedMs: moment - before,
      returnedMs: unknown === 'no' ? moment + behind : Number.POSITIVE_INFINITY,
      ...(unknown === 'no' && { reply }),
    };
  });
}

/** Tries every order of every choice of unknown outcomes; nothing clever in it. */
function hasOrder(calls: readonly Call[], state = new Keyspace()): boolean {
  if (calls.every(({ reply }) => reply === undefined)) return true;
  return calls.some((call, at) => {
    if (calls.some(({ returnedMs }) => returnedMs < call.invokedMs)) return false;
    const others = [...calls.slice(0, at), ...calls.slice(at + 1)];
    return [...statesBehind(call, state)].some((next) => hasOrder(others, next));
  });
}

/** All that the call may make of the state. */
function* statesBehind(call: Call, state: Keyspace): Generator<Keyspace> {
  const { lines, isTransaction, reply } = call;
  if (reply !== undefined) {
    const ran = isTransaction
      ? runTransaction(state, lines, reply)
      : runCommand(state, lines[0]!, reply);
    if (JSON.stringify(ran.reply) === JSON.stringify(reply)) yield ran.state;
    return;
  }
  const [line, ...rest] = lines;
  if (line === undefined) return yield state;
  const told = line[0] === 'SPOP' ? (line[2] === undefined ? ['a', 'b', 'c'] : pairs) : [null];
  for (const one of told) {
    const next = runCommand(state, line, one).state;
    yield* statesBehind({ ...call, lines: rest }, next);
  }
}

const pairs = [
  ['a', 'b'],
  ['a', 'c'],
  ['b', 'c'],
];

test('whatever took effect one by one is accepted', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 60 }), (all) => {
      expect(judgePart(happen(all)).verdict).toBe('yes');
    }),
    { numRuns: scale.linearizableHistories },
  );
});

test('a bent history is refused exactly when no order explains it', () => {
  const verdicts = { yes: 0, no: 0, undecided: 0 };
  const bent = fc.record({
    all: fc.array(drawn, { minLength: 3, maxLength: 7 }),
    victim: fc.nat(),
    donor: fc.nat(),
    earlier: fc.boolean(),
  });
  fc.assert(
    fc.property(bent, ({ all, victim, donor, earlier }) => {
      const calls = happen(all);
      const known = calls.filter(({ reply }) => reply !== undefined);
      if (known.length === 0) return;
      const one = known[victim % known.length]!;
      const other = known[donor % known.length]!;
      // another's reply, or its own time moved
      const changed: Call = earlier
        ? { ...one, invokedMs: one.invokedMs - 40, returnedMs: one.invokedMs - 20 }
        : { ...one, reply: other.reply! };
      const history = calls.map((call) => (call === one ? changed : call));
      const { verdict } = judgePart(history);
      verdicts[verdict]++;
      expect(verdict).toBe(hasOrder(history) ? 'yes' : 'no');
    }),
    { numRuns: scale.linearizableHistories * 3 },
  );
  // both happen often enough for the comparison to mean something
  expect(Math.min(verdicts.yes, verdicts.no)).toBeGreaterThan(scale.linearizableHistories / 5);
  expect(verdicts.undecided).toBe(0);
});
