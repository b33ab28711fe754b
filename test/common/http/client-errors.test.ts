/** Who sends a door what is no request is told what is wrong with it. */
import { connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clientErrorHandler } from '../../../src/common/http/client-errors.ts';
import type { Probes } from '../../../src/common/http/probe-routes.ts';
import { requestTime } from '../../../src/common/http/request-time.ts';
import { createApp } from '../../../src/datanode/http/server.ts';

let app: FastifyInstance;

beforeEach(() => {
  app = createApp({ ...({} as Probes), status: () => undefined });
});
afterEach(() => app.close());

/** All that `texts` are answered with, one sent after the other, until the connection ends. */
async function answers(...texts: string[]): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  return new Promise((resolve, reject) => {
    let all = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, async () => {
      for (const text of texts) {
        socket.write(text);
        await new Promise((sent) => setTimeout(sent, 5));
      }
    });
    socket.on('data', (chunk) => {
      all += chunk.toString();
    });
    socket.on('end', () => {
      socket.destroy();
      resolve(all);
    });
    socket.on('error', reject);
  });
}

/** Status and message that `text` is answered with, until the connection ends. */
async function told(text: string): Promise<readonly [status: number, message: string]> {
  const [head = '', body = ''] = (await answers(text)).split('\r\n\r\n');
  return [Number(head.split(' ')[1]), JSON.parse(body).message];
}

test('of headers that are too long', async () => {
  const [status, message] = await told(`GET / HTTP/1.1\r\nhost: h\r\nx: ${'y'.repeat(20_000)}`);
  expect([status, message]).toEqual([
    431,
    'path and headers are longer than 16384 bytes: send fewer of them',
  ]);
});

test('of bytes that are no HTTP', async () => {
  const [status, message] = await told('*1\r\n$4\r\nPING\r\n');
  expect(status).toBe(400);
  expect(message).toMatch(/^this is a port for HTTP, and what came is none \(/);
});

test('of a request that does not come', async () => {
  await app.close();
  app = fastify({ ...requestTime(50), clientErrorHandler });
  const [status, message] = await told('GET / HTTP/1.1\r\n');
  expect([status, message]).toEqual([
    408,
    'no whole request came within 30000 ms: send it at once',
  ]);
});

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);

test('of bytes behind requests, once those are answered', async () => {
  const ping = 'GET /ping HTTP/1.1\r\nhost: h\r\n\r\n';
  const slow = ping.replace('ping', 'slow');
  app.get('/slow', () => new Promise((resolve) => setTimeout(resolve, 100, 'late')));
  const text = await answers(`${slow}${ping}no HTTP\r\n\r\n`, 'nor', 'this');
  expect(text).toMatch(/\r\n\r\nlateHTTP.*\r\n\r\nOKHTTP.*this is a port for HTTP/s);
  expect(statuses(text)).toEqual(['200', '200', '400']);
});

test('of a request whose body is none, at once', async () => {
  app.post('/any', async () => 'here');
  const head =
    'POST /any HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  expect(statuses(await answers(head, 'no length\r\n'))).toEqual(['400']);
});
