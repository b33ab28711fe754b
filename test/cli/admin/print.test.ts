import { describe, expect, test } from 'vitest';
import { barLine, bytesText, durationText, tableLines } from '../../../src/cli/admin/print.ts';

describe('what people read', () => {
  test('a table has columns as wide as they must be, numbers to the right', () => {
    expect(
      tableLines(
        ['node', 'replicas', 'dc'],
        [
          ['a1', 12, 'dc1'],
          ['datanode2', 3, undefined],
        ],
      ),
    ).toEqual(['node       replicas  dc', 'a1               12  dc1', 'datanode2         3  -']);
  });

  test('a bar is never longer than its place, and full only at the end', () => {
    expect(barLine(0, 'x')).toBe(`[${'-'.repeat(24)}]   0 %  x`);
    expect(barLine(0.999, 'x')).toContain(' 99 %');
    expect(barLine(1, 'x')).toBe(`[${'#'.repeat(24)}] 100 %  x`);
  });

  test('sizes and times in units that fit', () => {
    expect([bytesText(0), bytesText(1_536), bytesText(5 * 1_024 ** 3)]).toEqual([
      '0 B',
      '1.5 KiB',
      '5.0 GiB',
    ]);
    expect(bytesText(undefined)).toBeUndefined();
    expect([durationText(100), durationText(89_000), durationText(600_000)]).toEqual([
      '1 s',
      '89 s',
      '10 min',
    ]);
    expect(durationText(7_200_000)).toBe('2.0 h');
  });
});
