import { expect, test } from 'vitest';
import { Run } from '../../bench/measure-all.ts';
import { parseOptions } from '../../bench/options.ts';

test('what would not end in time is not begun, and is named', async () => {
  const said: string[] = [];
  const args = ['--only', 'redis,failover,bulk', '--minutes', '1', '--kills', '1000'];
  const run = new Run(parseOptions([...args, '--bulk', '9000000']), '/nowhere', (line) => {
    said.push(line);
  });
  const { rows, found, leftOut } = await run.measure();
  expect({ rows, found }).toEqual({ rows: [], found: [] });
  expect(leftOut).toEqual([
    'redis: would take 2 min, and --minutes 1',
    'failover: would take 251 min, and --minutes 1',
    'bulk: would take 10 min, and --minutes 1',
  ]);
  expect(said).toHaveLength(3);
  expect(said[0]).toMatch(/^ 0:00 {2}redis is left out: it would take/);
});
