import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keys } from '../../../src/meta/schema.ts';
import { ApiUnderTest, namespaceRecord } from './api.ts';

interface Operation {
  readonly summary?: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Readonly<
    Record<string, { readonly content?: { 'application/json'?: { schema: object } } }>
  >;
}

const api = new ApiUnderTest();
let paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;

beforeAll(async () => {
  await api.start();
  await api.fill();
  await api.put(
    keys.namespace('going'),
    namespaceRecord('going', { ready: false, deleting: true }),
  );
  const draining = { sinceMs: 1, replicas: 4 };
  const state = { version: 1, node: 'n9', firstSeenMs: 1, lostSinceMs: 2 };
  await api.put(keys.nodeState('n9'), state);
  await api.put(keys.nodeState('n1'), { ...state, node: 'n1', draining });
  const pd = { version: 1, name: 'pd1', host: 'h', httpPort: 1, build: '9' };
  await api.put(keys.placedriver('pd1'), pd);
  await api.put(keys.node('n3'), { version: 1 }); // cannot be read: the last one stays
  await api.store.put(`${keys.election}1`, 'pd1');
  await api.seen();
  while ((await api.get('/v1/events')).body.events.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  ({ paths } = (await api.get('/v1/openapi.json')).body);
});

afterAll(() => api.stop());

/** What the framework itself routes. */
function routed(): string[] {
  const tree = api.app.printRoutes({ commonPrefix: false });
  const stack: string[] = [];
  const found: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^((?:│ {3}| {4})*)(?:├──|└──) (\S+?)(?: \((.*)\))?$/.exec(line);
    if (match === null) continue;
    const depth = match[1]!.length / 4;
    stack.splice(depth, stack.length, match[2]!);
    for (const method of match[3]?.split(', ') ?? []) {
      if (method !== 'HEAD') found.push(`${method} ${stack.join('')}`);
    }
  }
  return found.map((route) => route.replaceAll(/:(\w+)/g, '{$1}')).sort();
}

test('every route is in the document, and no other', () => {
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.length).toBeGreaterThan(40);
  expect(described.sort()).toEqual(routed());
});

test('every route of the API says what it is for, and every write that it may need a token', () => {
  const silent: string[] = [];
  const unguarded: string[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    if (['/livez', '/readyz', '/metrics'].includes(path)) continue;
    for (const [method, { summary, security }] of Object.entries(operations)) {
      if (!summary) silent.push(`${method} ${path}`);
      if ((method === 'get') !== (security === undefined)) unguarded.push(`${method} ${path}`);
    }
  }
  expect([silent, unguarded]).toEqual([[], []]);
});

test('answers are what the document says', async () => {
  const ajv = new Ajv({ allowUnionTypes: true });
  const reads = [
    '/info',
    '/listpd',
    '/datanodes',
    '/namespaces',
    '/cluster/stats',
    '/query/default',
    '/v1/cluster',
    '/v1/nodes',
    '/v1/nodes/n1',
    '/v1/namespaces',
    '/v1/namespaces/default',
    '/v1/namespaces/default/partitions',
    '/v1/namespaces/default/partitions/1',
    '/v1/operations',
    '/v1/moves/planned',
    '/v1/events',
  ];
  const given: Readonly<Record<string, string>> = {
    '/v1/nodes/n1': '/v1/nodes/{node}',
    '/query/default': '/query/{namespace}',
    '/v1/namespaces/default': '/v1/namespaces/{namespace}',
    '/v1/namespaces/default/partitions': '/v1/namespaces/{namespace}/partitions',
    '/v1/namespaces/default/partitions/1': '/v1/namespaces/{namespace}/partitions/{partition}',
  };
  const told = Object.entries(paths).filter(([, { get }]) => {
    return get?.responses['200']?.content?.['application/json'] !== undefined;
  });
  const looked = [...reads.map((url) => given[url] ?? url), '/ping', '/v1/openapi.json'];
  expect(told.map(([path]) => path).filter((path) => !looked.includes(path))).toEqual([]);
  for (const url of reads) {
    const { get } = paths[given[url] ?? url]!;
    const { schema } = get!.responses['200']!.content!['application/json']!;
    const { code, body } = await api.get(url);
    expect(code, url).toBe(200);
    const validate = ajv.compile(schema);
    expect([url, validate(body), validate.errors]).toEqual([url, true, null]);
  }
});
