import { expect, test } from 'vitest';
import { HeldDeadlines } from '../../../../src/cli/import/live/held-deadlines.ts';
import { Report } from '../../../../src/cli/import/report.ts';
import type { Target } from '../../../../src/cli/import/target.ts';

const DAY_MS = 86_400_000;
const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const head = (key: string, deadlineMs: number) => ({
  key: Buffer.from(key),
  type: 0,
  deadlineMs,
  offset: 0,
});

/** What was asked of a namespace in which these keys are due at these times. */
function fakeTarget(due: Record<string, number>) {
  const asked: string[] = [];
  const call = async (name: string, key: Buffer, ...more: unknown[]) => {
    if (name === 'PEXPIRETIME') return due[String(key)] ?? -2;
    asked.push([name, String(key), ...more].join(' '));
    return 1;
  };
  return { asked, target: { client: async () => ({ call }) } as unknown as Target };
}

test('near deadlines are put off, far ones are not, and the source’s come back', async () => {
  const report = new Report(() => {});
  const held = new HeldDeadlines(report);
  const nowMs = Date.now();
  const soon = nowMs + 1_000;
  const put = held.ofKey(head('soon', soon), 'default').deadlineMs!;
  expect(put).toBeGreaterThan(nowMs + DAY_MS - 2_000);
  expect(held.ofKey(head('far', nowMs + DAY_MS), 'default').deadlineMs).toBe(nowMs + DAY_MS);
  const passed = held.ofKey(head('passed', 5), 'default').deadlineMs!;
  held.ofKey(head('changed', soon), 'default');
  const { asked, target } = fakeTarget({ soon: put, passed, changed: -1 });
  await held.giveAllBack(target);
  expect(asked).toEqual([`PEXPIREAT soon ${soon}`, 'PEXPIREAT passed 5']);
  expect([held.count, report.get('expired')]).toEqual([0, 1]);
});

test.each([
  ['SET k v PXAT @', 4],
  ['PEXPIREAT k @', 2],
  ['RESTORE k @ payload ABSTTL', 2],
  ['GETEX k PXAT @', 3],
])('the deadline in %s is put off when it is near', (text, at) => {
  const held = new HeldDeadlines(new Report(() => {}));
  const given = line(text.replace('@', String(Date.now() + 1_000)));
  expect(Number(held.ofLine('default', given)[at])).toBeGreaterThan(Date.now() + DAY_MS - 5_000);
  const far = line(text.replace('@', String(Date.now() + DAY_MS)));
  expect(held.ofLine('default', far)).toBe(far);
});

test('a key that is renamed takes it along', async () => {
  const held = new HeldDeadlines(new Report(() => {}));
  const untilMs = held.ofKey(head('old', 7), 'default').deadlineMs!;
  held.ofLine('default', line('RENAME old new'));
  const { asked, target } = fakeTarget({ new: untilMs });
  await held.giveAllBack(target);
  expect(asked).toEqual(['PEXPIREAT new 7']);
});

test('what the source deletes is forgotten', () => {
  const held = new HeldDeadlines(new Report(() => {}));
  for (const key of ['a', 'b', 'c']) held.ofKey(head(key, 7), 'default');
  held.ofLine('default', line('UNLINK a b'));
  held.ofLine('other', line('DEL c'));
  expect(held.count).toBe(1);
});
