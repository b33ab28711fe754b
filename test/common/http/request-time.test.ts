import { connect } from 'node:net';
import fastify from 'fastify';
import { expect, test } from 'vitest';
import type { Probes } from '../../../src/common/http/probe-routes.ts';
import { requestTime } from '../../../src/common/http/request-time.ts';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { createApp } from '../../../src/datanode/http/server.ts';
import type { ApiContext } from '../../../src/placedriver/http/context.ts';
import { createApi } from '../../../src/placedriver/http/server.ts';

/** What a client that sends `text`, and nothing after it, is told until it is left. */
function told(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

test('a request that stops in its middle is answered, and its connection closed', async () => {
  const app = fastify(requestTime(100));
  app.post('/', async () => 'done');
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const head = 'POST / HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n';
  expect(await told(port, `${head}content-length: 9\r\n\r\n{"a"`)).toMatch(/^HTTP\/1.1 408 /);
  expect(await told(port, head)).toMatch(/^HTTP\/1.1 408 /);
  await app.close();
});

test('both doors wait no longer', async () => {
  const context = { logger: silentLogger, awayForMs: () => undefined } as unknown as ApiContext;
  const probes = {} as Probes;
  const sources = { ...probes, status: () => undefined };
  for (const app of [createApp(sources), await createApi(context, probes)]) {
    expect(app.server.requestTimeout).toBe(limits.httpRequestMs);
    expect(app.server.headersTimeout).toBe(limits.httpRequestMs);
    await app.close();
  }
});
