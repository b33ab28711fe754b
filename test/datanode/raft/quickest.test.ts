/** Whom a leader asks to confirm that it still leads. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { jointVote } from '../../../src/datanode/raft/quorum.ts';
import { ReadIndex } from '../../../src/datanode/raft/read-index.ts';

const SELF = 1;
const NEVER = -1;
const ids = fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 7 });
const drawn = fc.record({
  voters: ids,
  votersOutgoing: fc.oneof(fc.constant([]), ids),
  answers: fc.array(fc.tuple(fc.integer({ min: 2, max: 7 }), fc.nat(9)), { maxLength: 7 }),
});

test('are those of a quorum who answered the newest rounds, and nobody beyond', () => {
  fc.assert(
    fc.property(drawn, ({ voters, votersOutgoing, answers }) => {
      const quorum = { voters, votersOutgoing };
      const reads = new ReadIndex(seededRandom('quickest'));
      const newest = new Map<number, number>();
      const rounds = Array.from({ length: 10 }, () => reads.nextNumber());
      for (const [from, round] of answers) {
        reads.answer(SELF, quorum, { from, readContext: rounds[round]!, promised: false });
        newest.set(from, Math.max(round, newest.get(from) ?? NEVER));
      }
      const asked = reads.quickest(SELF, quorum);
      const wins = (some: readonly number[]) =>
        jointVote(quorum, new Map([SELF, ...some].map((id) => [id, true]))) === 'won';
      expect(wins(asked)).toBe(true);
      if (asked.length > 0) expect(wins(asked.slice(0, -1))).toBe(false);
      const numbers = asked.map((voter) => newest.get(voter) ?? NEVER);
      expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
      const all = new Set([...voters, ...votersOutgoing]);
      const others = [...all].filter((id) => id !== SELF && !asked.includes(id));
      for (const other of others) {
        expect(newest.get(other) ?? NEVER).toBeLessThanOrEqual(numbers.at(-1) ?? Infinity);
      }
    }),
    { numRuns: 400 },
  );
});
