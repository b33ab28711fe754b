import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as secureConnect } from 'node:tls';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import { boundConnections } from '../../../src/common/http/connection-room.ts';
import { listenHttp } from '../../../src/common/http/listen.ts';
import { type HttpTls, secureDoor } from '../../../src/common/http/secure-door.ts';
import { ask } from '../../../src/common/tls/ask.ts';
import type { PeerCredentials } from '../../../src/common/tls/mutual-network.ts';
import { TestAuthority } from '../tls/authority.ts';

const authority = new TestAuthority();
const shown = authority.issue('door');
let app: FastifyInstance;

afterEach(() => app.close());

async function open(mode: HttpTls['mode'], credentials = () => shown): Promise<number> {
  app = fastify({ forceCloseConnections: true });
  secureDoor(app, { mode, credentials });
  boundConnections(app, 4);
  app.get('/', async ({ raw }) => ('encrypted' in raw.socket ? 'secret' : 'open'));
  app.post('/', async ({ body }) => body);
  return listenHttp(app, { host: '127.0.0.1', port: 0 });
}

const secret = (port: number, authorities = authority.certificate) =>
  ask(`https://127.0.0.1:${port}/`, { authorities });

test('one port takes both where it is optional', async () => {
  const port = await open('optional');
  expect(await secret(port)).toMatchObject({ ok: true, status: 200, text: 'secret' });
  expect((await ask(`http://127.0.0.1:${port}/`)).text).toBe('open');
  const body = JSON.stringify('x'.repeat(500_000));
  const headers = { 'content-type': 'application/json' };
  const how = { method: 'POST', headers, body, authorities: authority.certificate };
  for (const scheme of ['https', 'http']) {
    const answer = await ask(`${scheme}://127.0.0.1:${port}/`, how);
    expect(answer.text.length).toBe(500_000);
  }
});

test('who speaks no TLS where it is required is told so', async () => {
  const port = await open('required');
  expect((await secret(port)).text).toBe('secret');
  const answer = await ask(`http://127.0.0.1:${port}/`);
  expect(answer).toMatchObject({ ok: false, status: 400 });
  expect(answer.text).toContain('ask https://');
});

test('nobody begins a handshake anew on a connection that had one, renewed certificates or not', async () => {
  let credentials = shown;
  const port = await open('required', () => credentials);
  const anew = async () => {
    const how = {
      port,
      host: '127.0.0.1',
      ca: authority.certificate,
      maxVersion: 'TLSv1.2',
    } as const;
    const socket = secureConnect(how);
    await once(socket, 'secureConnect');
    const failure = new Promise((resolve) => {
      socket.on('error', resolve);
      socket.renegotiate({}, resolve);
    });
    expect(String(await failure)).toMatch(/no renegotiation/i);
    socket.destroy();
  };
  await anew();
  credentials = authority.issue('renewed');
  await anew();
});

describe('who asks', () => {
  test('believes the authorities it was given, and no other', async () => {
    const port = await open('required');
    const other = new TestAuthority().certificate;
    await expect(secret(port, other)).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/SIGNATURE|ISSUER|SELF_SIGNED/) },
    });
    await expect(ask(`https://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  test('is shown what was renewed', async () => {
    const next = new TestAuthority();
    let now: PeerCredentials = shown;
    const port = await open('required', () => now);
    expect((await secret(port)).status).toBe(200);
    now = next.issue('door');
    expect((await secret(port, next.certificate)).status).toBe(200);
  });
});

test('those who say nothing, or no TLS after its first byte, make room and end with the door', async () => {
  const port = await open('optional');
  const silent = Array.from({ length: 12 }, (_, at) => {
    const socket = connect(port, '127.0.0.1', () => at % 2 === 0 && socket.write('\x16'));
    return socket.on('error', () => {}).resume();
  });
  await Promise.all(silent.slice(-4).map((socket) => socket.connecting && once(socket, 'connect')));
  expect((await secret(port)).status).toBe(200);
  const closed = silent.map((socket) => socket.closed || once(socket, 'close'));
  await app.close();
  await Promise.all(closed);
});
