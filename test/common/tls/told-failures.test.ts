import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { ToldFailures } from '../../../src/common/tls/told-failures.ts';
import { ManualClock } from '../../datanode/raftlog/manual-clock.ts';

test('many failures are a few lines, and the next line says how many there were', () => {
  const clock = new ManualClock();
  const lines: unknown[] = [];
  const failures = new ToldFailures(clock, { warn: (_text, fields) => lines.push(fields) });
  const { most, inMs } = limits.tlsFailureLines;
  for (let at = 0; at < most + 5; at++) failures.tell('failed', { at });
  expect(lines).toHaveLength(most);
  clock.spend(inMs);
  failures.tell('failed', { at: 'later' });
  failures.tell('failed', { at: 'last' });
  expect(lines.slice(most)).toEqual([{ at: 'later', andBefore: 5 }, { at: 'last' }]);
});
