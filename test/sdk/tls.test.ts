/** The option `tls`: what it may be, what it reaches, and what is said when it does not fit. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { createServer as createPlainServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import type { Outcome } from '../../src/sdk/connection.ts';
import { ioredisConnector } from '../../src/sdk/ioredis-connection.ts';
import { parseOptions } from '../../src/sdk/options.ts';
import { fetchGet, PlacedriverSource } from '../../src/sdk/placedriver-source.ts';
import type { TlsOptions } from '../../src/sdk/tls-options.ts';
import { connectionSettings, optionsAgain } from '../../src/sdk/world.ts';
import {
  authority,
  issued,
  issuedToClient,
  newAuthority,
} from '../common/tls/made-certificates.ts';

const own = issued();
const ca = authority.certificate;

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

async function listening(server: { listen(port: number, host: string): unknown } & Server) {
  server.listen(0, '127.0.0.1');
  ends.push(() => server.close());
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

describe('it is read', () => {
  const client = issuedToClient('app');
  const at = { datanodes: ['n1:1'] };

  test('as true, as an object, and not at all', () => {
    expect(parseOptions(at).tls).toBeUndefined();
    expect(parseOptions({ ...at, tls: false }).tls).toBeUndefined();
    expect(parseOptions({ ...at, tls: true }).tls).toEqual({});
    const tls = { ca: [ca], cert: client.certificate, key: Buffer.from(client.key) };
    const settings = parseOptions({ ...at, tls: { ...tls, servername: undefined } });
    expect(connectionSettings(settings).tls).toEqual(tls);
    expect(parseOptions(optionsAgain(settings, {})).tls).toEqual(tls);
  });

  test('from URLs', () => {
    const { source, tls } = parseOptions('rediss://u:p@n1:1,n2:2/shop');
    expect([source.kind, tls]).toEqual(['datanodes', {}]);
    expect(parseOptions('redis://n1:1?tls=true').tls).toEqual({});
    const secure = parseOptions('kvorums://p1:1,[::1]:2');
    expect(secure.tls).toEqual({});
    expect(secure.source.addresses).toEqual(['https://p1:1', 'https://[::1]:2']);
    expect(parseOptions(optionsAgain(secure, {})).source).toEqual(secure.source);
    expect(() => parseOptions('rediss://n1:1?tls=false')).toThrow('leave tls away');
  });

  test('placedrivers say by their scheme how they are asked', () => {
    const placedrivers = ['p1:1', 'http://p2:2/', 'HTTPS://p3:3'];
    const { source, tls } = parseOptions({ placedrivers });
    expect(source.addresses).toEqual(['p1:1', 'p2:2', 'https://p3:3']);
    expect(tls).toBeUndefined();
    expect(() => parseOptions({ datanodes: ['https://n1:1'] })).toThrow('is not host:port');
  });

  test.each<[unknown, string]>([
    ['yes', 'true, false, or an object'],
    [{ cafile: 'x' }, 'no option cafile'],
    [{ ca: '/etc/ca.crt' }, 'ca must be PEM (the content of a file, not its path)'],
    [{ ca: [] }, 'ca must be PEM'],
    [{ cert: client.certificate }, 'cert and key go together'],
    [{ cert: own.certificate, key: client.key }, 'cannot be used'],
    [{ servername: '' }, 'servername must be a text'],
    [{ rejectUnauthorized: 'no' }, 'rejectUnauthorized must be true or false'],
  ])('but not as %o', (tls, text) => {
    const make = () => parseOptions({ ...at, tls: tls as TlsOptions });
    expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
    expect(make).toThrow(text);
  });
});

describe('placedrivers over https', () => {
  const asks = () =>
    listening(
      createServer({ cert: own.certificate, key: own.key }, (request, answer) => {
        answer.statusCode = request.url === '/query/default' ? 200 : 404;
        answer.end('{"epoch":7,"message":"it was reached"}');
      }),
    );
  const look = async (tls: TlsOptions | undefined) => {
    const get = fetchGet(5_000, tls);
    const at = `https://127.0.0.1:${await asks()}`;
    const source = new PlacedriverSource([at], 'default', get, systemClock);
    return source.fetch(undefined, new AbortController().signal, false);
  };

  test('are believed by the authority that is given', async () => {
    await expect(look({ ca })).rejects.toThrow('it was reached');
  });

  test('and by no other', async () => {
    await expect(look(undefined)).rejects.toThrow(/unable to (verify|get)/i);
    await expect(look({ ca: newAuthority().certificate })).rejects.toThrow(
      /unable to (verify|get)/i,
    );
    await expect(look({ ca, servername: 'elsewhere' })).rejects.toThrow('elsewhere');
  });
});

describe('a connection', () => {
  const ask = (port: number, tls?: TlsOptions, password?: string) =>
    new Promise<Outcome & { refused?: boolean }>((resolve) => {
      let refused = false;
      const connection = ioredisConnector(systemClock).open(
        {
          ...{ address: { host: '127.0.0.1', port }, namespace: undefined, username: undefined },
          ...{ password, connectTimeoutMs: 5_000, readOnly: false, tls },
        },
        {
          ready: () => {},
          closed: (_, isRefused) => {
            refused = isRefused;
          },
        },
      );
      ends.push(() => connection.close());
      connection.send(['GET', 'a'], (outcome) => setImmediate(resolve, { ...outcome, refused }));
    });
  const causeOf = async (...args: Parameters<typeof ask>) => {
    const outcome = await ask(...args);
    return 'cause' in outcome ? [outcome.cause.message, outcome.refused] : outcome;
  };
  const secure = () =>
    listening(
      createTlsServer({ cert: own.certificate, key: own.key }, (socket) => {
        socket.on('error', () => {});
        socket.on('data', (bytes) => {
          for (const _ of `${bytes}`.matchAll(/^\*/gm)) socket.write('+OK\r\n');
        });
      }).on('tlsClientError', () => {}) as unknown as Server,
    );
  const plain = (answer: string) =>
    listening(
      createPlainServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(answer));
      }) as unknown as Server,
    );

  test('speaks TLS', async () => {
    const port = await secure();
    expect(await ask(port, { ca })).toMatchObject({ kind: 'reply' });
    expect(await ask(port, { rejectUnauthorized: false })).toMatchObject({ kind: 'reply' });
    expect(await ask(port, { ca, servername: 'localhost' })).toMatchObject({ kind: 'reply' });
  });

  test('says whose certificate it does not believe', async () => {
    const port = await secure();
    const text = new RegExp(`^127.0.0.1:${port}: its certificate is not accepted: .*option tls`);
    expect(await causeOf(port, {})).toEqual([expect.stringMatching(text), false]);
    expect(await causeOf(port, { ca, servername: 'other' })).toEqual([
      expect.stringMatching(text),
      false,
    ]);
  });

  test('says who does not speak TLS', async () => {
    const port = await plain('-ERR Protocol error\r\n');
    const text = `127.0.0.1:${port} does not speak TLS (see the option tls)`;
    expect(await causeOf(port, { ca })).toEqual([text, false]);
    const silent = await plain('');
    expect(await causeOf(silent, { ca })).toEqual([
      `127.0.0.1:${silent} does not speak TLS (see the option tls)`,
      false,
    ]);
  });

  test.each([undefined, 'secret'])(
    'is refused plain where TLS alone is spoken (%s)',
    async (password) => {
      const port = await plain('-ERR this port speaks TLS, and nothing else: connect with TLS\r\n');
      const text = `127.0.0.1:${port} speaks TLS alone: give the option tls, or rediss:// for redis://`;
      const outcome = await ask(port, undefined, password);
      expect(outcome).toMatchObject({ cause: { message: text }, refused: true });
    },
  );
});
