/** However many connect to an HTTP door, and whatever they do, it has some, and others get in. */
import { connect, type Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { boundConnections } from '../../../src/common/http/connection-room.ts';
import type { Probes } from '../../../src/common/http/probe-routes.ts';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { createApp } from '../../../src/datanode/http/server.ts';
import type { ApiContext } from '../../../src/placedriver/http/context.ts';
import { createApi } from '../../../src/placedriver/http/server.ts';

let app: FastifyInstance;
let sockets: Socket[];
let goOn: () => void;

afterEach(async () => {
  goOn?.();
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** A door for four; `/slow` answers when the test says so. */
async function door(): Promise<number> {
  sockets = [];
  const ended = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  app = fastify({ forceCloseConnections: true });
  boundConnections(app, 4);
  app.get('/', async () => 'here');
  app.get('/slow', async () => {
    await ended;
    return 'late';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as { port: number }).port;
}

function open(port: number, text = ''): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text);
      setTimeout(() => resolve(socket), 2);
    });
    socket.on('error', () => {});
    sockets.push(socket);
  });
}

const request = (path: string) => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`;

/** What comes until it has all, or the other side closes. */
function answer(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (/\r\n\r\n.+/s.test(text)) resolve(text);
    });
    socket.on('close', () => resolve(text));
  });
}

const connections = (): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)));

test.each([
  ['say nothing', ''],
  ['never end their headers', 'GET / HTTP/1.1\r\nhost: h\r\n'],
  ['rest after an answer', request('/')],
])('connections that %s make room', async (_, text) => {
  const port = await door();
  for (let number = 0; number < 50; number++) await open(port, text);
  expect(await connections()).toBeLessThanOrEqual(5);
  expect(await answer(await open(port, request('/')))).toMatch(/^HTTP\/1.1 200 /);
});

test('who comes while all are being answered is told why', async () => {
  const port = await door();
  for (let number = 0; number < 4; number++) await open(port, request('/slow'));
  const refused = await answer(await open(port, request('/')));
  expect(refused).toMatch(/^HTTP\/1.1 503 .*retry-after: 1.*4 connections are being answered/s);
  goOn();
  await expect.poll(async () => answer(await open(port, request('/')))).toMatch(/^HTTP\/1.1 200 /);
});

test('both doors have a bound', async () => {
  sockets = [];
  const context = { logger: silentLogger, awayForMs: () => undefined } as unknown as ApiContext;
  const probes = {} as Probes;
  const { datanode, placedriver } = limits.httpConnectionsMax;
  app = await createApi(context, probes);
  expect(app.server.maxConnections).toBe(placedriver + limits.httpRefusedMax);
  await app.close();
  app = createApp({ ...probes, status: () => undefined });
  expect(app.server.maxConnections).toBe(datanode + limits.httpRefusedMax);
});
