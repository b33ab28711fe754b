import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { Accounting, parseBusyTicks, parseRssAnon, parseStat } from '../../bench/accounting.ts';

test('CPU ticks are found behind a name with spaces and brackets', () => {
  const fields = '1 4 4 0 -1 4194304 9 0 0 0 120 30 7 3 20 0 11 0 99 1 2';
  expect(parseStat(`12 (a (b) c) S ${fields}\n`)).toEqual({ own: 150, children: 10 });
  expect(() => parseStat('12 (cut off) S 1 4')).toThrow('no CPU ticks');
});

test('RssAnon is bytes; a process that has ended holds none', () => {
  expect(parseRssAnon('VmRSS:\t  900 kB\nRssAnon:\t   120 kB\nRssFile:\t 1 kB\n')).toBe(122_880);
  expect(parseRssAnon('Name:\tx\nState:\tZ (zombie)\n')).toBe(0);
});

test('waiting for a disk is not being busy', () => {
  // user nice system idle iowait irq softirq steal guest
  expect(parseBusyTicks('cpu  10 1 5 900 80 2 3 4 7 0\ncpu0 1 1 1 1 1 1 1 1\n')).toBe(25);
});

test('a process that has ended is named', async () => {
  const child = spawn('true');
  await new Promise((resolve) => child.once('close', resolve));
  const accounting = new Accounting([{ name: 'datanode2', pid: child.pid ?? 0 }]);
  try {
    expect(() => accounting.open()).toThrow(`datanode2 (process ${child.pid}) has ended`);
    expect(() => accounting.check()).toThrow('datanode2');
    expect(() => accounting.memory()).toThrow('datanode2');
  } finally {
    accounting.close();
  }
});

test('a process is charged what it has used in the window, and so is its memory', async () => {
  const child = spawn(process.execPath, ['-e', 'for (;;);']);
  try {
    const accounting = new Accounting([{ name: 'busy', pid: child.pid ?? 0 }]);
    try {
      const wait = () => new Promise<void>((resolve) => setTimeout(resolve, 2_000));
      const { usage } = await accounting.during(wait);
      expect(usage.servers['busy']).toBeGreaterThan(0.05);
      expect(usage.servers['busy']).toBeLessThanOrEqual(usage.seconds + 0.05);
      const { busy: held } = accounting.memory();
      expect(held?.endBytes).toBeGreaterThan(1e6);
      expect(held?.peakBytes).toBeGreaterThanOrEqual(1e6);
    } finally {
      accounting.close();
    }
  } finally {
    child.kill('SIGKILL');
  }
});
