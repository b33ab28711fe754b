import { expect, test } from 'vitest';
import { LatencySpikes } from '../../../src/datanode/server/latency-spikes.ts';
import { shownArgs } from '../../../src/datanode/server/shown-args.ts';
import { SlowLog } from '../../../src/datanode/server/slow-log.ts';

const entry = { atSeconds: 1, microseconds: 2, args: [], client: '', clientName: '' };

test('the slow log keeps the newest entries, and fewer when its bound shrinks', () => {
  let max = 3;
  const log = new SlowLog(() => max);
  for (let at = 0; at < 5; at++) log.add(entry);
  expect(log.newest(-1).map(({ id }) => id)).toEqual([4, 3, 2]);
  max = 1;
  expect(log.length).toBe(1);
  log.reset();
  log.add(entry);
  expect(log.newest(9).map(({ id }) => id)).toEqual([5]);
});

test('spikes are kept one a second, the worst of it, and not without end', () => {
  let threshold = 0;
  const spikes = new LatencySpikes(() => threshold);
  spikes.note('command', 500, 1);
  expect(spikes.events()).toEqual([]);
  threshold = 100;
  spikes.note('command', 99, 1);
  spikes.note('command', 200, 1);
  spikes.note('command', 150, 1);
  expect(spikes.events()).toEqual([
    { name: 'command', samples: [{ atSeconds: 1, milliseconds: 200 }], worstMilliseconds: 200 },
  ]);
  for (let second = 2; second < 400; second++) spikes.note('command', 100, second);
  expect(spikes.events()[0]?.samples).toHaveLength(160);
  expect(spikes.events()[0]?.worstMilliseconds).toBe(200);
});

const words = (...texts: string[]) => texts.map((text) => Buffer.from(text));
const shown = (command: string, ...texts: string[]) =>
  shownArgs(command, words(...texts)).map(String);

test('arguments are shown cut, and secrets not at all', () => {
  expect(shown('get', 'GET', 'k'.repeat(130))).toEqual([
    'GET',
    `${'k'.repeat(128)}... (2 more bytes)`,
  ]);
  const many = shown('del', ...Array.from({ length: 40 }, (_, at) => `k${at}`));
  expect(many).toHaveLength(32);
  expect(many.at(-1)).toBe('... (9 more arguments)');
  expect(shown('auth', 'auth', 'user', 'pass')).toEqual(['auth', '(redacted)', '(redacted)']);
  expect(shown('hello', 'hello', '3', 'AUTH', 'user', 'pass', 'setname', 'me')).toEqual([
    'hello',
    '3',
    'AUTH',
    '(redacted)',
    '(redacted)',
    'setname',
    'me',
  ]);
  expect(shown('config|set', 'config', 'set', 'requirepass', 'p', 'hz', '1')).toEqual([
    'config',
    'set',
    'requirepass',
    '(redacted)',
    'hz',
    '1',
  ]);
  for (const name of ['masterauth', 'MasterUser', 'tls-key-file-pass']) {
    expect(shown('config|set', 'config', 'set', name, 'p')[3]).toBe('(redacted)');
  }
});

test('short requests are shown as they came, unless they would keep much memory', () => {
  const short = words('SET', 'k', 'v');
  expect(shownArgs('set', short)).toBe(short);
  const large = Buffer.alloc(100_000, 'x');
  const [, piece] = shownArgs('get', [short[0]!, large.subarray(0, 10)]);
  expect(piece!.toString()).toBe('xxxxxxxxxx');
  expect(piece!.buffer.byteLength).toBeLessThan(100_000);
});
