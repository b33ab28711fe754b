import { expect, test } from 'vitest';
import { error, OK } from '../../../src/datanode/resp/reply.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';

test('calls, failures and rejections are told apart as in Redis', () => {
  const stats = new ServerStats();
  stats.count('set', 10, OK);
  stats.count('set', 30, error('WRONGTYPE no'));
  stats.count('set', 50, error('MOVED 1 a:1'), true);
  stats.refuse('set', error('ERR wrong number of arguments'));
  stats.refuse(undefined, error('ERR unknown command'));
  expect(stats.byCommand.get('set')).toMatchObject({
    calls: 2,
    microseconds: 40,
    failed: 1,
    rejected: 2,
  });
  expect(stats.byCommand.get('set')!.latency.count).toBe(2);
  expect(stats.commands).toBe(2);
  expect(stats.errorReplies).toBe(4);
  expect(Object.fromEntries(stats.byErrorCode)).toEqual({ WRONGTYPE: 1, MOVED: 1, ERR: 2 });
});

test('a forwarded reply counts by its bytes', () => {
  const stats = new ServerStats();
  const encoded = (text: string) => ({ kind: 'encoded', bytes: Buffer.from(text) }) as const;
  stats.count('get', 1, encoded('$1\r\n-\r\n'));
  stats.count('get', 1, encoded('-WRONGTYPE Operation against …\r\n'));
  stats.count('get', 1, encoded('-MY_CODE of a script\r\n'));
  expect(stats.byCommand.get('get')).toMatchObject({ calls: 3, failed: 2 });
  expect(Object.fromEntries(stats.byErrorCode)).toEqual({ WRONGTYPE: 1, MY_CODE: 1 });
});

test('error codes are bounded in number and length', () => {
  const stats = new ServerStats();
  for (let code = 0; code < 1_000; code++) stats.refuse(undefined, error(`E${code} x`));
  expect(stats.byErrorCode.size).toBe(129);
  expect(stats.byErrorCode.get('OTHER')).toBe(872);
  const long = new ServerStats();
  long.refuse(undefined, error('X'.repeat(10_000)));
  expect([...long.byErrorCode.keys()][0]).toHaveLength(64);
});

test('begins anew after a reset', () => {
  const stats = new ServerStats();
  stats.count('set', 10, error('ERR no'));
  stats.inputBytes = 5;
  stats.reset();
  expect(stats.byCommand.size + stats.byErrorCode.size).toBe(0);
  expect([stats.commands, stats.errorReplies, stats.inputBytes]).toEqual([0, 0, 0]);
});
