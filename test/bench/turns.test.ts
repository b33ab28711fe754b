import { describe, expect, it } from 'vitest';
import { ownMs } from '../../bench/holds/turns.ts';

describe('CPU time of a turn without the collector', () => {
  it('is all of it where nothing was collected', () => {
    expect(ownMs(3, 0)).toBe(3);
  });

  it('is what a collection cannot have taken', () => {
    expect(ownMs(20, 17)).toBe(3);
  });

  it('is none where a collection may have taken it all', () => {
    expect(ownMs(20, 40)).toBe(0);
  });
});
