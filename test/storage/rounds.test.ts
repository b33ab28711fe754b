import { expect, test } from 'vitest';
import { inRounds } from './rounds.ts';

test('one round after the other, and the one that hangs is named', async () => {
  const begun: number[] = [];
  const round = (at: number) => {
    begun.push(at);
    return at === 2 ? new Promise<void>(() => {}) : Promise.resolve();
  };
  await expect(inRounds({ what: 'kills', count: 4, roundMs: 30 }, round)).rejects.toThrow(
    'kills: round 3 of 4 does not end',
  );
  expect(begun).toEqual([0, 1, 2]);
});

test('a round that fails ends the run with its own words', async () => {
  const round = () => Promise.reject(new Error('lost'));
  await expect(inRounds({ what: 'kills', count: 4 }, round)).rejects.toThrow('lost');
});
