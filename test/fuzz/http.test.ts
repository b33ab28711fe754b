/**
 * HTTP requests of every route with one thing wrong: refused by its name, never with a 500; and what
 * is no HTTP at all, over real sockets. Bent at random they are a room of the engine.
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { bendBytes } from './engine/bend-bytes.ts';
import { HttpDoors } from './http-doors.ts';
import { type HttpRequest, httpRequests } from './http-requests.ts';
import { type Json, pathsOf, replacedAt, valueAt } from './json-mutations.ts';
import { judgeAnswer } from './rooms/http.ts';

let doors: HttpDoors;
beforeAll(async () => {
  doors = await HttpDoors.open();
});
afterAll(() => doors.close());

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
}

async function documentedPaths() {
  const { text } = await doors.send({
    ...{ door: 'placedriver', method: 'GET', url: '/v1/openapi.json' },
  });
  return (JSON.parse(text) as { paths: Record<string, Record<string, Operation>> }).paths;
}

const ofPlacedriver = httpRequests.filter(({ door }) => door === 'placedriver');
const pathOf = ({ url }: HttpRequest) => url.split('?')[0]!;

test('every documented route is among those that are bent, with all of its query', async () => {
  const paths = await documentedPaths();
  const missing = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [], requestBody }]) => {
      const shape = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      const known = ofPlacedriver.filter(
        (one) => one.method === method.toUpperCase() && shape.test(pathOf(one)),
      );
      if (known.length === 0) return [`${method} ${path}`];
      if (requestBody !== undefined && known.every(({ body }) => body === undefined)) {
        return [`body of ${method} ${path}`];
      }
      return parameters
        .filter((one) => one.in === 'query')
        .filter(({ name }) => known.every(({ url }) => !url.includes(`${name}=`)))
        .map(({ name }) => `${name} of ${method} ${path}`);
    }),
  );
  expect(missing).toEqual([]);
});

/** Wrong for whatever is asked: no name, number, flag or list of ours. */
const wrongTexts = [
  '',
  ' ',
  '-1',
  '1e3',
  '0x10',
  'x/y',
  'ü',
  '\u0000',
  'z'.repeat(400),
  '9'.repeat(30),
];

/** Names and tags may look like numbers; a datanode is asked for namespaces of any name. */
function isTaken({ door }: HttpRequest, parameter: string, text: string): boolean {
  if (parameter === 'tags') return /^[\w/-]+$/.test(text);
  if (!/^(?:namespace|node|remove_node)$/.test(parameter)) return false;
  return door === 'datanode' || /^\w{1,60}$/.test(text);
}

const withQuery = httpRequests.filter(({ url }) => url.includes('?'));

describe('one wrong parameter of the query', () => {
  test.each(withQuery)('$method $url', async (request) => {
    const [path, query = ''] = request.url.split('?');
    for (const parameter of query.split('&')) {
      const name = parameter.split('=')[0]!;
      const others = query.split('&').filter((other) => other !== parameter);
      for (const wrong of wrongTexts) {
        if (isTaken(request, name, wrong)) continue;
        const own = `${name}=${encodeURIComponent(wrong)}`;
        const url = `${path}?${[...others, own].join('&')}`;
        const answer = await doors.send({ ...request, url });
        judgeAnswer({ ...request, url }, answer);
        expect([url, answer.code]).toEqual([url, 400]);
        expect(JSON.parse(answer.text).message).toMatch(new RegExp(`\\b${name}\\b`));
      }
      if (request.door === 'datanode') continue;
      const twice = `${request.url}&${parameter}`;
      const answer = await doors.send({ ...request, url: twice });
      expect([twice, answer.code, answer.text]).toEqual([
        twice,
        400,
        expect.stringContaining(name),
      ]);
    }
  });

  test.each(ofPlacedriver.filter(({ url }) => url.startsWith('/v1') && !url.includes('?')))(
    '$method $url knows no other',
    async (request) => {
      const url = `${request.url}?wrong=1`;
      const answer = await doors.send({ ...request, url });
      if (url.startsWith('/v1/openapi.json')) return;
      expect([answer.code, answer.text]).toEqual([400, expect.stringContaining('wrong')]);
    },
  );
});

const wrongValues: readonly Json[] = [
  ...[-1, 0.5, 1e300, '', '\u0000', 'x/y', 'z'.repeat(400)],
  ...([[[]], [null], { a: 1 }] as Json[]),
];

const withBody = httpRequests.filter(({ body }) => body !== undefined);

describe('one wrong value of the body', () => {
  test.each(withBody)('$method $url $body', async (request) => {
    const body = JSON.parse(request.body!) as Json;
    for (const path of pathsOf(body)) {
      for (const wrong of wrongValues) {
        if (valueAt(body, path) === wrong) continue;
        // any text may be said to confirm: it is compared, not parsed
        if (path[0] === 'confirmation' && typeof wrong === 'string') continue;
        const bent = { ...request, body: JSON.stringify(replacedAt(body, path, wrong)) };
        const answer = await doors.send(bent);
        judgeAnswer(bent, answer);
        expect([bent.body, answer.code]).toEqual([bent.body, 400]);
        expect(JSON.parse(answer.text).message).toContain(String(path[0]));
      }
      const more = replacedAt(body, [...path.slice(0, -1), 'wrong'], 1);
      if (Array.isArray(valueAt(body, path.slice(0, -1)))) continue;
      const answer = await doors.send({ ...request, body: JSON.stringify(more) });
      expect([answer.code, answer.text]).toEqual([400, expect.stringContaining('wrong')]);
    }
  });

  test.each(withBody)('no object at all: $method $url', async (request) => {
    for (const [body, type] of [
      ...['[]', '1', 'null', '"x"', '{', '', '{"a":1,"a":}', '[[[['].map((one) => [one]),
      [`${'['.repeat(20_000)}${']'.repeat(20_000)}`],
      ['{"name":"x"}', 'text/plain'],
      ['{}', 'multipart/form-data'],
    ] as [string, string?][]) {
      const bent = { ...request, body, type: type ?? 'application/json' };
      const answer = await doors.send(bent);
      judgeAnswer(bent, answer);
      expect([body.slice(0, 40), answer.code]).toEqual([body.slice(0, 40), 400]);
    }
    const large = { ...request, body: `{"name":"${'x'.repeat(70_000)}"}` };
    const answer = await doors.send(large);
    expect(answer.code).toBe(413);
  });
});

test('a datanode is asked for the partitions of a namespace of any name', async () => {
  const longest = `/cluster/leader/${'n'.repeat(255)}-3`;
  const ask = (url: string) => doors.send({ door: 'datanode', method: 'GET', url });
  expect(await ask(longest)).toMatchObject({ code: 404, text: expect.stringContaining('nnn-3') });
  for (const wrong of ['default', '-3', 'default-', 'default-x', `${'n'.repeat(256)}-3`, '%00']) {
    const answer = await ask(`/cluster/leader/${wrong}`);
    expect([wrong, answer.code]).toEqual([wrong, 400]);
    expect(answer.text).toContain('nspid must be NAMESPACE-PARTITION');
  }
});

/** What `port` answers to these bytes until it closes, or to its first answer. */
function talk(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const late = setTimeout(
      () => reject(new Error(`no answer to ${bytes.toString('latin1')}`)),
      20_000,
    );
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(late);
      resolve(text);
    });
    socket.write(bytes);
    // who still waits for the rest of a request knows then that none comes
    setTimeout(() => socket.end(), 300);
  });
}

test('what is no HTTP is answered as that, and the next is served', async () => {
  const { app } = doors.api;
  await app.listen({ host: '127.0.0.1', port: 0 });
  const bound = app.server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const random = seededRandom('no http');
  const good = [
    'GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    'POST /v1/nodes/n1/drain HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    'PUT /v1/control/upgrade HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
      'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nb\r\n{"on":true}\r\n0\r\n\r\n',
  ].map((text) => Buffer.from(text));
  for (const request of good) expect(await talk(port, request)).toMatch(/^HTTP\/1.1 (?:200|409) /);
  let answered = 0;
  for (let round = 0; round < 8; round++) {
    const bent = Array.from({ length: 40 }, () => {
      const [one, other] = [good[random.below(3)]!, good[random.below(3)]!];
      return bendBytes(one, other, random);
    });
    for (const answer of await Promise.all(bent.map((bytes) => talk(port, bytes)))) {
      if (answer === '') continue;
      answered++;
      expect(answer).toMatch(/^HTTP\/1\.1 (?:100|2\d\d|3\d\d|4\d\d|503) /);
      expect(answer).not.toMatch(/HTTP\/1\.1 500/);
    }
    expect(await talk(port, good[0]!)).toMatch(/^HTTP\/1.1 200 .*OK$/s);
  }
  expect(answered).toBeGreaterThan(100);
});
