import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Api, isUnsent } from '../../../src/cli/admin/api.ts';
import { partitionPath } from '../../../src/cli/admin/moves.ts';
import { writeRunFile } from '../../../src/cli/run-file.ts';
import { hostPort } from '../../../src/common/host-port.ts';

const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  host = '127.0.0.1',
) {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  return `http://${hostPort({ host, port: (address as AddressInfo).port })}`;
}

async function refusing(): Promise<string> {
  const url = await serve(() => {});
  await new Promise((resolve) => servers.pop()!.close(resolve));
  return url;
}

const data = tmpdir();

describe('the command line asks a placedriver', () => {
  test('the next one when the first is not there', async () => {
    const url = [await refusing(), await serve((_, response) => response.end('{"a": 1}'))];
    expect(await new Api({ url, data }).get('/v1/x')).toEqual({ a: 1 });
    await new Api({ url, data }).write('POST', '/v1/x', { b: 2 });
  });

  test('for a write as well when the first has no address: nothing was sent', async () => {
    let written = 0;
    const second = await serve((_, response) => {
      written++;
      response.end('{}');
    });
    const url = ['http://nobody.invalid:18001', second];
    await new Api({ url, data }).write('POST', '/v1/x', {});
    expect(written).toBe(1);
  });

  const failed = (cause: object) => new TypeError('fetch failed', { cause });
  const system = (code: string, syscall?: string) =>
    Object.assign(new Error(code), { code, syscall });

  test.each<[string, object]>([
    ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].map(
      (code): [string, object] => [code, system(code)],
    ),
    ['a connect timeout', system('UND_ERR_CONNECT_TIMEOUT')],
    ['the system’s connect timeout', system('ETIMEDOUT', 'connect')],
    [
      'every address failed',
      new AggregateError([system('ENETUNREACH'), system('ETIMEDOUT', 'connect')]),
    ],
  ])('%s says that nothing was sent', (_, cause) => {
    expect(isUnsent(failed(cause))).toBe(true);
  });

  test.each<[string, object]>([
    ['a reset', system('ECONNRESET')],
    ['a timeout of what was sent', system('ETIMEDOUT', 'read')],
    [
      'one address answered for a while',
      new AggregateError([system('ECONNREFUSED'), system('EPIPE')]),
    ],
    ['the other side closed', system('UND_ERR_SOCKET')],
  ])('%s does not', (_, cause) => {
    expect(isUnsent(failed(cause))).toBe(false);
  });

  test('nor does an answer that takes too long', () => {
    expect(isUnsent(new DOMException('aborted', 'TimeoutError'))).toBe(false);
  });

  test('and says who was asked when none is there, and what to do', async () => {
    const url = [await refusing()];
    const failure = new Api({ url, data }).get('/v1/x');
    await expect(failure).rejects.toThrow(/no placedriver answers .*ECONNREFUSED.*--url/);
  });

  test('no second one for a write whose connection was lost: it may have been done', async () => {
    let asked = 0;
    const second = await serve((_, response) => {
      asked++;
      response.end();
    });
    const url = [await serve((request) => request.socket.destroy()), second];
    await expect(new Api({ url, data }).write('POST', '/v1/x', {})).rejects.toThrow(
      /no placedriver/,
    );
    expect(asked).toBe(0);
  });

  test("with the token, and passes on the placedriver's own words", async () => {
    const url = [
      await serve((request, response) => {
        const allowed = request.headers.authorization === 'Bearer s3cret';
        response.statusCode = allowed ? 409 : 401;
        response.end(JSON.stringify({ message: allowed ? 'not now' : 'needs a token' }));
      }),
    ];
    await expect(new Api({ url, data, token: 's3cret' }).write('PUT', '/v1/x')).rejects.toThrow(
      /^not now$/,
    );
    await expect(new Api({ url, data }).write('PUT', '/v1/x')).rejects.toThrow(
      'needs a token; give --token or KVORUM_TOKEN',
    );
  });

  test('of the data directory that is named, and of no other: a wrong one is told', async () => {
    const root = mkdtempSync(join(tmpdir(), 'kvorum-api-'));
    const url = new URL(await serve((_, response) => response.end('{"a": 1}')));
    const run = { name: 'placedriver1', role: 'placedriver', pid: 1, host: url.hostname } as const;
    writeRunFile(join(root, 'run', 'placedriver1.json'), {
      ...run,
      ports: { http: Number(url.port) },
    });
    expect(await new Api({ data: root }).get('/v1/x')).toEqual({ a: 1 });
    const typo = join(root, 'tpyo');
    expect(() => new Api({ data: typo })).toThrow(
      `--data ${typo}: no placedriver has run there; name the data directory of a kvorum start, ` +
        'or a placedriver with --url',
    );
    rmSync(root, { recursive: true });
  });

  test('of a data directory whose placedriver has an address of IPv6', async () => {
    const root = mkdtempSync(join(tmpdir(), 'kvorum-api-'));
    const { port } = new URL(await serve((_, response) => response.end('{"a": 1}'), '::1'));
    writeRunFile(join(root, 'run', 'placedriver1.json'), {
      ...{ name: 'placedriver1', role: 'placedriver', pid: 1, host: '::1' },
      ports: { http: Number(port) },
    });
    expect(await new Api({ data: root }).get('/v1/x')).toEqual({ a: 1 });
    rmSync(root, { recursive: true });
  });

  test.each(['begin', 'localhost:18001', 'ftp://h:1', 'http://', ''])('%j is no url', (given) => {
    expect(() => new Api({ url: ['http://h:1', given] })).toThrow(
      `--url ${given}: must be as http://host:port`,
    );
  });

  test('partitions are named as people read them', () => {
    expect(partitionPath('default/3')).toBe('/v1/namespaces/default/partitions/3');
    expect(() => partitionPath('default')).toThrow('name a partition as default/3');
  });
});
