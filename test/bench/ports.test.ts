import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePorts } from '../../bench/ports.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function listen(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    servers.push(server);
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, resolve);
  });
}

test('every port of the range is free; a range with one that is taken is passed over', async () => {
  const first = await freePorts(3);
  for (const port of [first, first + 1, first + 2]) await listen(port);
  const next = await freePorts(3, first);
  expect(next).toBeGreaterThanOrEqual(first + 3);
  await listen(next);
});

test('without a free port left it says so', async () => {
  await expect(freePorts(3, 29_999)).rejects.toThrow('no 3 free ports');
});
