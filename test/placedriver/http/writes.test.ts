import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KvorumError } from '../../../src/common/errors.ts';
import { ApiUnderTest } from './api.ts';

let api: ApiUnderTest;

beforeAll(async () => {
  api = await new ApiUnderTest().start();
});

beforeEach(() => {
  api.calls.length = 0;
  api.failure = undefined;
});

afterAll(() => api.stop());

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const at = '/v1/namespaces/a/partitions/3';
const what = { namespace: 'a', partition: 3 };
const create = '/cluster/namespace/create?namespace=a&partition_num=8&replicator=3';
const made = { name: 'a', partitions: 8, replicas: 3, hash: 'slots' };
const long = 'n'.repeat(255);
const night = { fromMinute: 1_320, toMinute: 390 };

/** Each request, and what the operator is asked. */
const good: readonly (readonly [Method, string, object | undefined, readonly unknown[]])[] = [
  ['POST', create, undefined, ['createNamespace', made]],
  [
    'POST',
    `${create}&engtype=rockredis&data_version=value_header_v1&expiration_policy=wait_compact&tags=ssd,rack=7&optimizedfsync=true&hash=murmur3&reads=lease`,
    undefined,
    ['createNamespace', { ...made, hash: 'murmur3', tags: ['ssd', 'rack=7'], reads: 'lease' }],
  ],
  [
    'DELETE',
    '/cluster/namespace/delete?namespace=a&partition=**',
    undefined,
    ['deleteNamespace', 'a'],
  ],
  ['DELETE', '/cluster/namespace/delete?namespace=a', undefined, ['deleteNamespace', 'a']],
  [
    'POST',
    '/cluster/namespace/meta/update?namespace=a&replicator=5&tags=ssd&optimizefsync=false',
    undefined,
    ['updateNamespace', 'a', { replicas: 5, tags: ['ssd'] }],
  ],
  ['POST', '/cluster/balance?enable=false', undefined, ['setBalance', { enabled: false }]],
  ['POST', '/cluster/node/remove?remove_node=n1', undefined, ['drain', 'n1']],
  [
    'DELETE',
    '/cluster/partition/remove_node?namespace=a&partition=3&node=n1',
    undefined,
    ['removeReplica', what, 'n1'],
  ],
  ['POST', '/cluster/upgrade/begin', undefined, ['setUpgrade', true]],
  ['POST', '/cluster/upgrade/done', undefined, ['setUpgrade', false]],
  ['POST', '/cluster/pd/tombstone?node=pd1', undefined, ['banPlacedriver', 'pd1', true]],
  [
    'POST',
    '/cluster/pd/tombstone?node=pd1&restore=true',
    undefined,
    ['banPlacedriver', 'pd1', false],
  ],
  ['POST', '/stable/nodenum?number=3', undefined, ['lowerStableNodes', 3]],
  [
    'POST',
    '/v1/namespaces',
    { name: 'a', partitions: 8, replicas: 3, tags: ['ssd'] },
    ['createNamespace', { ...made, tags: ['ssd'] }],
  ],
  ['PATCH', '/v1/namespaces/a', { reads: 'lease' }, ['updateNamespace', 'a', { reads: 'lease' }]],
  ['DELETE', '/v1/namespaces/a', undefined, ['deleteNamespace', 'a']],
  ['DELETE', `/v1/namespaces/${long}`, undefined, ['deleteNamespace', long]],
  ['POST', `${at}/move`, { from: 'n1', to: 'n2' }, ['move', what, 'n1', 'n2']],
  ['POST', `${at}/transfer-leader`, { to: 'n2' }, ['transferLeader', what, 'n2']],
  [
    'POST',
    `${at}/rebuild`,
    { survivor: 'n1', confirmation: 'lose-data-of a/3' },
    ['rebuild', what, 'n1', 'lose-data-of a/3'],
  ],
  ['POST', '/v1/nodes/n1/drain', undefined, ['drain', 'n1']],
  ['DELETE', '/v1/nodes/n1/drain', undefined, ['undrain', 'n1']],
  ['PUT', '/v1/control/balance', { enabled: true }, ['setBalance', { enabled: true }]],
  ['PUT', '/v1/control/balance', { window: null }, ['setBalance', { window: null }]],
  [
    'PUT',
    '/v1/control/balance',
    { window: { from: '22:00', to: '06:30' } },
    ['setBalance', { window: night }],
  ],
  ['PUT', '/v1/control/upgrade', { on: true }, ['setUpgrade', true]],
  ['PUT', '/v1/control/stable-nodes', { count: 2 }, ['lowerStableNodes', 2]],
];

test.each(good)('%s %s %j', async (method, url, body, asked) => {
  expect(await api.send(method, url, body)).toMatchObject({ code: 200, body: {} });
  expect(api.calls).toEqual([asked]);
});

const spec = { name: 'a', partitions: 8, replicas: 3 };

/** Each wrong request, and what its refusal must say. */
const bad: readonly (readonly ['GET' | Method, string, unknown, RegExp])[] = [
  ['POST', '/cluster/namespace/create', undefined, /^namespace is missing: it must be name of/],
  ['POST', create.replace('=a', '=a/b'), undefined, /^namespace must be name of a namespace: /],
  ['POST', create.replace('=a', '=a-b'), undefined, /^namespace must be .* letters, digits and un/],
  ['POST', create.replace('=a', `=${long}x`), undefined, /^namespace must be .* 255 at most/],
  ['GET', `/query/${long}x`, undefined, /^namespace must be name of a namespace/],
  ['POST', create.replace('=8', '=0'), undefined, /^partition_num must be a whole .* 1 to 1024/],
  ['POST', create.replace('=8', '=1025'), undefined, /^partition_num must be a whole number/],
  ['POST', create.replace('=8', '=eight'), undefined, /^partition_num must be a whole number/],
  ['POST', create.replace('&partition_num=8', ''), undefined, /^partition_num is missing/],
  ['POST', create.replace('=3', '=8'), undefined, /^replicator must be a whole number from 1 to 7/],
  ['POST', `${create}&replicator=2`, undefined, /^replicator must be/],
  ['POST', `${create}&engtype=pebble`, undefined, /^engtype must be one of rockredis, leveldb/],
  ['POST', `${create}&data_version=v3`, undefined, /^data_version must be one of/],
  ['POST', `${create}&expiration_policy=local_deletion`, undefined, /^expiration_policy must be/],
  ['POST', `${create}&tags=a,,b`, undefined, /^tags must be tags that nodes must have/],
  ['POST', `${create}&optimizedfsync=2`, undefined, /^optimizedfsync must be true or false/],
  ['POST', `${create}&hash=md5`, undefined, /^hash must be one of slots, murmur3/],
  ['POST', `${create}&reads=dirty`, undefined, /^reads must be one of linearizable, lease/],
  ['POST', `${create}&colour=1`, undefined, /^there is no parameter colour; there are namespace,/],
  ['DELETE', '/cluster/namespace/delete?namespace=a&partition=1', undefined, /^partition must be/],
  ['DELETE', '/cluster/namespace/delete', undefined, /^namespace is missing/],
  ['POST', '/cluster/namespace/meta/update?namespace=a&snapcount=9', undefined, /snapcount/],
  ['POST', '/cluster/namespace/meta/update?namespace=a', undefined, /^nothing to change/],
  ['POST', '/cluster/namespace/meta/update?replicator=1', undefined, /^namespace is missing/],
  ['POST', '/cluster/balance', undefined, /^enable is missing: it must be true or false/],
  ['POST', '/cluster/balance?enable=on', undefined, /^enable must be true or false/],
  ['POST', '/cluster/node/remove', undefined, /^remove_node is missing/],
  ['POST', '/cluster/node/remove?remove_node=a%2Fb', undefined, /^remove_node must be name of/],
  ['DELETE', '/cluster/partition/remove_node?namespace=a&partition=1', undefined, /^node is mis/],
  ['DELETE', '/cluster/partition/remove_node?namespace=a&node=n', undefined, /^partition is mis/],
  [
    'DELETE',
    '/cluster/partition/remove_node?namespace=a&node=n&partition=-1',
    undefined,
    /^partition must be a whole number from 0/,
  ],
  ['POST', '/cluster/upgrade/begin?now=1', undefined, /^there is no parameter now; there are none/],
  ['POST', '/cluster/upgrade/done?now=1', undefined, /^there is no parameter now/],
  ['POST', '/cluster/pd/tombstone', undefined, /^node is missing/],
  ['POST', '/cluster/pd/tombstone?node=p&restore=maybe', undefined, /^restore must be true or fa/],
  ['POST', '/stable/nodenum', undefined, /^number is missing/],
  ['POST', '/stable/nodenum?number=-1', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=0', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=1.5', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=0x10', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=1e2', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=1e400', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=%201', undefined, /^number must be a whole number from 1/],
  ['POST', '/stable/nodenum?number=1&number=2', undefined, /^number must be a whole number/],
  ['POST', '/stable/nodenum', { number: 3 }, /^number is missing/],
  ['POST', '/stable/nodenum?number=3', { number: 3 }, /^this takes no body: its parameters/],
  ['POST', '/v1/nodes/n1/drain', { node: 'n2' }, /^this takes no body/],
  ['POST', '/v1/nodes/n1/drain', ['n2'], /^this takes no body/],
  ['POST', '/loglevel/set?loglevel=loud', undefined, /^loglevel must be one of/],
  ['POST', '/loglevel/set', undefined, /^loglevel is missing/],
  ['POST', '/v1/namespaces', undefined, /^the body must be a JSON object/],
  ['POST', '/v1/namespaces', [], /^the body must be a JSON object/],
  ['POST', '/v1/namespaces', { ...spec, partitions: '8' }, /^partitions must be a whole number/],
  ['POST', '/v1/namespaces', { ...spec, partitions: null }, /^partitions must be a whole number/],
  ['POST', '/v1/namespaces', { ...spec, name: '' }, /^name must be name of a namespace/],
  ['POST', '/v1/namespaces', { ...spec, replicas: 8 }, /^replicas must be a whole number/],
  [
    'POST',
    '/v1/namespaces',
    { ...spec, tags: Array.from({ length: 17 }, (_, at) => `t${at}`) },
    /^tags must be a list: .* at most 16/,
  ],
  ['POST', '/v1/namespaces', { ...spec, tags: 'ssd' }, /^tags must be a list/],
  ['POST', '/v1/namespaces', { ...spec, tags: ['ok', 'a b'] }, /^tags.1 must be a tag/],
  ['POST', '/v1/namespaces', { ...spec, hash: 'md5' }, /^hash must be one of/],
  ['POST', '/v1/namespaces', { ...spec, reads: 1 }, /^reads must be one of/],
  ['POST', '/v1/namespaces', { ...spec, size: 1 }, /^there is no parameter size; there are name,/],
  ['POST', '/v1/namespaces?x=1', spec, /^there is no parameter x/],
  ['POST', '/v1/namespaces', { name: 'a', replicas: 3 }, /^partitions is missing/],
  ['PATCH', '/v1/namespaces/a', {}, /^nothing to change is named/],
  ['PATCH', '/v1/namespaces/a', { partitions: 9 }, /^there is no parameter partitions/],
  ['PATCH', '/v1/namespaces/a', { replicas: 0 }, /^replicas must be/],
  ['PATCH', '/v1/namespaces/a%20b', { replicas: 1 }, /^namespace must be name of a namespace/],
  ['DELETE', '/v1/namespaces/-', undefined, /^namespace must be/],
  ['POST', '/v1/namespaces/a/partitions/x/move', { from: 'a', to: 'b' }, /^partition must be/],
  ['POST', `${at}/move`, { from: 'a' }, /^to is missing/],
  ['POST', `${at}/move`, { from: 'a', to: 7 }, /^to must be name of a node/],
  ['POST', `${at}/transfer-leader`, {}, /^to is missing/],
  ['POST', `${at}/rebuild`, { survivor: 'n1' }, /^confirmation is missing: it must be the text/],
  ['POST', `${at}/rebuild`, { confirmation: 'x' }, /^survivor is missing/],
  ['POST', '/v1/nodes/a%20b/drain', undefined, /^node must be name of a node/],
  ['DELETE', '/v1/nodes/a%20b/drain', undefined, /^node must be name of a node/],
  ['PUT', '/v1/control/balance', {}, /^nothing to change is named/],
  ['PUT', '/v1/control/balance', { enabled: 'yes' }, /^enabled must be true or false/],
  ['PUT', '/v1/control/balance', { window: {} }, /^window.from is missing: it must be a time/],
  [
    'PUT',
    '/v1/control/balance',
    { window: { from: '24:00', to: '01:00' } },
    /^window.from must be a time of day/,
  ],
  ['PUT', '/v1/control/balance', { window: 5 }, /^window must be/],
  ['PUT', '/v1/control/upgrade', {}, /^on is missing/],
  ['PUT', '/v1/control/upgrade', { on: 1 }, /^on must be true or false/],
  ['PUT', '/v1/control/stable-nodes', { count: -1 }, /^count must be a whole number/],
  ['GET', '/query/a?epoch=x', undefined, /^epoch must be a whole number/],
  ['GET', '/query/a?epoch=1e400', undefined, /^epoch must be a whole number/],
  ['GET', '/query/%zz', undefined, /^'\/query\/%zz' is not a valid url/],
  ['GET', '/query/a?epoch=1&epoch=2', undefined, /^epoch must be a whole number/],
  ['GET', '/query/a?disable_cache=perhaps', undefined, /^disable_cache must be true or false/],
  ['GET', '/query/a?colour=1', undefined, /^there is no parameter colour; there are epoch,/],
  ['GET', '/query/a%20b', undefined, /^namespace must be/],
  ['GET', '/datanodes?all=1', undefined, /^there is no parameter all/],
  ['GET', '/v1/cluster?all=1', undefined, /^there is no parameter all/],
  ['GET', '/v1/nodes/a%20b', undefined, /^node must be/],
  ['GET', '/v1/namespaces/a/partitions/1.0', undefined, /^partition must be a whole number/],
  ['GET', '/v1/namespaces/a/partitions/16384', undefined, /^partition must be a whole number/],
  ['GET', '/v1/events?since=-1', undefined, /^since must be a whole number/],
];

test.each(bad)('%s %s %j is refused and says why', async (method, url, body, message) => {
  const { code, body: answer } =
    method === 'GET' ? await api.get(url) : await api.send(method, url, body);
  expect([code, Object.keys(answer)]).toEqual([400, ['message']]);
  expect(answer.message).toMatch(message);
  expect(api.calls).toEqual([]);
});

describe('bodies', () => {
  test('that are no JSON, too large, or a form are refused; an empty form is none', async () => {
    const json = { 'content-type': 'application/json' };
    expect((await api.send('POST', '/v1/namespaces', '{"name"', json)).code).toBe(400);
    const large = JSON.stringify({ ...spec, name: 'a'.repeat(100_000) });
    expect(await api.send('POST', '/v1/namespaces', large, json)).toMatchObject({
      code: 413,
      body: { message: 'the body is longer than 65536 bytes: name less at once' },
    });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const refused = await api.send('POST', create, 'namespace=a', form);
    expect(refused).toMatchObject({ code: 400 });
    expect(refused.body.message).toBe('the body must be JSON (content-type application/json)');
    expect((await api.send('POST', create, '', form)).code).toBe(200);
    expect((await api.send('POST', create, '', json)).code).toBe(200);
    expect((await api.send('POST', create, '{}', json)).code).toBe(200);
    const none = await api.send('POST', '/v1/namespaces', '', json);
    expect(none.body.message).toMatch(/^the body must be a JSON object/);
  });

  test('of any shape get 200 or a 400 with a message, never a fault', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...good.filter(([, , body]) => body !== undefined)),
        fc.oneof(
          fc.object({ maxDepth: 3 }),
          fc.dictionary(
            fc.constantFrom('name', 'partitions', 'replicas', 'tags', 'window', 'from', 'to', 'on'),
            fc.jsonValue({ maxDepth: 2 }),
          ),
        ),
        async ([method, url], body) => {
          const answer = await api.send(method, url, body);
          expect([200, 400]).toContain(answer.code);
          if (answer.code === 400) expect(answer.body.message.length).toBeGreaterThan(5);
        },
      ),
      { numRuns: 300, seed: 5 },
    );
  });
});

test.each([
  ['BAD_ARGUMENT', 400],
  ['NOT_FOUND', 404],
  ['CONFLICT', 409],
  ['STORE_UNAVAILABLE', 503],
  ['STORE_REPLACED', 503],
  ['LEASE_LOST', 503],
  ['BAD_RECORD', 500],
] as const)('%s of the operator becomes %i with its text', async (code, status) => {
  api.failure = new KvorumError(code, 'what is wrong');
  const answer = await api.send('POST', create);
  expect(answer).toMatchObject({ code: status, body: { message: 'what is wrong' } });
});

test('a refusal of the operator names the parameter as the route calls it', async () => {
  api.failure = new KvorumError('BAD_ARGUMENT', 'number: 9 is more than there are');
  const count = await api.send('PUT', '/v1/control/stable-nodes', { count: 9 });
  expect(count.body.message).toBe('count: 9 is more than there are');
  const number = await api.send('POST', '/stable/nodenum?number=9');
  expect(number.body.message).toBe('number: 9 is more than there are');
  api.failure = new KvorumError('CONFLICT', 'node: too few\nremain: so it is');
  const node = await api.send('POST', '/cluster/node/remove?remove_node=n1');
  expect(node.body.message).toBe('remove_node: too few\nremain: so it is');
  expect(node.code).toBe(409);
});

test('POST /loglevel/set takes names and ZanRedisDB’s numbers', async () => {
  for (const level of ['debug', '0', '2']) {
    expect((await api.send('POST', `/loglevel/set?loglevel=${level}`)).code).toBe(200);
  }
  expect(api.levels).toEqual(['debug', 'error', 'info']);
  expect(api.calls, 'the master is not asked').toEqual([]);
});

describe('a token', () => {
  const token = 'correct-horse-battery';
  let guarded: ApiUnderTest;
  beforeEach(async () => {
    guarded = await new ApiUnderTest().start(token);
  });
  afterEach(() => guarded.stop());

  test('is needed for every write, before its parameters are looked at, and for no read', async () => {
    const writes = [...good, ['POST', '/loglevel/set?loglevel=info', undefined, []] as const];
    for (const [method, url, body] of writes) {
      const none = await guarded.send(method, url, body);
      expect([none.code, none.headers['www-authenticate']], url).toEqual([401, 'Bearer']);
      expect(none.body.message).toContain('Authorization: Bearer');
      const wrong = await guarded.send(method, url, body, { authorization: 'Bearer incorrect' });
      expect(wrong.code, url).toBe(403);
      const right = await guarded.send(method, url, body, { authorization: `Bearer ${token}` });
      expect(right.code, url).toBe(200);
    }
    expect((await guarded.send('POST', '/stable/nodenum?number=x')).code).toBe(401);
    expect((await guarded.get('/namespaces')).code).toBe(200);
    expect(guarded.calls).toHaveLength(good.length);
  });
});
