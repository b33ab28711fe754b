import { beforeEach, expect, test } from 'vitest';
import { FakeNode, NOW_MS } from '../fake-node.ts';
import { ask } from '../node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

const NOW = Math.floor(NOW_MS / 1_000);

test('LATENCY HISTOGRAM tells the latencies of commands that were called', async () => {
  expect(await ask(node, 'LATENCY HISTOGRAM get')).toBe(
    '*2\r\n$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:4\r\n$14\r\nhistogram_usec\r\n*2\r\n:16\r\n:4\r\n',
  );
  const all = await ask(node, 'LATENCY HISTOGRAM');
  for (const name of ['get', 'set', 'config|get']) expect(all).toContain(`\r\n${name}\r\n`);
  expect(all).not.toContain('incr');
  expect(await ask(node, 'LATENCY HISTOGRAM CONFIG nothing')).toMatch(
    /^\*2\r\n\$10\r\nconfig\|get/,
  );
  expect(await ask(node, 'LATENCY HISTOGRAM incr')).toBe('*0\r\n');
});

test('spikes are listed by event, and forgotten', async () => {
  expect(await ask(node, 'LATENCY LATEST')).toBe('*0\r\n');
  node.watch.latency.note('command', 300, NOW - 7_300);
  node.watch.latency.note('command', 150, NOW);
  node.watch.latency.note('fast-command', 101, NOW - 60);
  expect(await ask(node, 'LATENCY LATEST')).toBe(
    `*2\r\n*4\r\n$7\r\ncommand\r\n:${NOW}\r\n:150\r\n:300\r\n` +
      `*4\r\n$12\r\nfast-command\r\n:${NOW - 60}\r\n:101\r\n:101\r\n`,
  );
  expect(await ask(node, 'LATENCY HISTORY command')).toBe(
    `*2\r\n*2\r\n:${NOW - 7_300}\r\n:300\r\n*2\r\n:${NOW}\r\n:150\r\n`,
  );
  expect(await ask(node, 'LATENCY HISTORY nothing')).toBe('*0\r\n');
  expect(await ask(node, 'LATENCY RESET command nothing')).toBe(':1\r\n');
  expect(await ask(node, 'LATENCY RESET')).toBe(':1\r\n');
  expect(await ask(node, 'LATENCY LATEST')).toBe('*0\r\n');
});

test('LATENCY GRAPH draws an event and refuses one without samples', async () => {
  node.watch.latency.note('command', 300, NOW - 7_300);
  node.watch.latency.note('command', 100, NOW - 5);
  const [, head, line, ...rows] = (await ask(node, 'LATENCY GRAPH command')).split(/\r?\n/);
  expect(head).toBe('command - high 300 ms, low 100 ms (all time high 300 ms)');
  expect(line).toBe('-'.repeat(80));
  expect(rows.slice(0, 6)).toEqual(['# ', '# ', '# ', '##', '25', 'hs']);
  expect(await ask(node, 'LATENCY GRAPH nothing')).toBe(
    "-ERR No samples available for event 'nothing'\r\n",
  );
});

test('LATENCY DOCTOR tells what to do', async () => {
  expect(await ask(node, 'LATENCY DOCTOR')).toContain('No command has taken 100 ms');
  node.watch.latency.note('command', 300, NOW);
  expect(await ask(node, 'LATENCY DOCTOR')).toContain('command: 1 spikes, 300 ms on average');
  node.watchSettings.latencyThresholdMs = 0;
  expect(await ask(node, 'LATENCY DOCTOR')).toContain('CONFIG SET latency-monitor-threshold 100');
  expect(await ask(node, 'LATENCY HELP')).toContain('HISTOGRAM');
});
