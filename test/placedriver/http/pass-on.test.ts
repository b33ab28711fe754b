import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { localSockets } from '../../../src/cli/local-sockets.ts';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import { ask as securely } from '../../../src/common/tls/ask.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { placedriverConfigSchema } from '../../../src/placedriver/config.ts';
import { PASSED_ON, PassOn } from '../../../src/placedriver/http/pass-on.ts';
import { serve } from '../../../src/placedriver/main.ts';
import { ClusterView } from '../../../src/placedriver/view/cluster-view.ts';
import { TestAuthority } from '../../common/tls/authority.ts';

const TOKEN = 'correct-horse-battery';

let meta: MemoryMeta;
let store: MetaStore;
type HttpTls = 'off' | 'optional' | 'required';

/** How placedrivers are asked. */
let scheme: 'http' | 'https';
let running: Map<string, { readonly port: number; stop(): Promise<void> }>;

beforeEach(() => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  running = new Map();
  scheme = 'http';
});

afterEach(async () => {
  await Promise.all([...running.values()].map((one) => one.stop()));
});

const authority = new TestAuthority();
const files = { 'cert-file': 'handed-in.crt', 'key-file': 'handed-in.key' };

async function start(name: string, token?: string, http: HttpTls = 'off'): Promise<void> {
  const config = placedriverConfigSchema.parse({
    name,
    'data-dir': '/nowhere',
    ports: { http: 0 },
    meta: { embedded: { port: 1 } },
    default: { nodes: 9, replicas: 3 },
    timing: { 'lease-ttl-ms': 1_000 },
    tls: http === 'off' ? {} : { ...files, http },
  });
  const credentials = { current: { ...authority.issue(name), ends: [] } };
  const world = {
    configFile: '/nowhere/placedriver.yaml',
    clock: systemClock,
    random: seededRandom(name),
    processId: 1,
    isAlive: () => false,
    birthOf: () => undefined,
    sockets: localSockets(silentLogger),
    disk: undefined as never, // no file is read: the store and the token are handed in
    logger: silentLogger,
    setLogLevel() {},
    fatal: (failure: Error) => expect.unreachable(failure.message),
  };
  running.set(name, await serve(config, world, { store: meta.connect(), token, credentials }));
}

async function ask(name: string, method: string, path: string, headers = {}) {
  const url = `${scheme}://127.0.0.1:${running.get(name)!.port}${path}`;
  const authorities = authority.certificate;
  const answer = await securely(url, { method, headers, authorities });
  const { text } = answer;
  const body = text.startsWith('{') ? JSON.parse(text) : text;
  return { code: answer.status, body };
}

/** With `target` in the request line as it is. */
function rawAsk(name: string, method: string, target: string) {
  const { port } = running.get(name)!;
  return new Promise<{ code: number | undefined; body: unknown }>((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method, path: target }, async (answer) => {
      const body = JSON.parse((await answer.toArray()).join(''));
      resolve({ code: answer.statusCode, body });
    });
    asked.on('error', reject).end();
  });
}

/** Until all have registered, and see that `master` can be asked. */
async function settled(master: string): Promise<void> {
  for (const name of running.keys()) {
    await expect
      .poll(async () => {
        const { body } = await ask(name, 'GET', '/v1/cluster');
        return [body.master, body.placedrivers?.length];
      })
      .toEqual([master, running.size]);
  }
  await expect
    .poll(async () => (await ask(master, 'GET', '/cluster/stats')).body.master)
    .toBe(true);
}

describe('two placedrivers', () => {
  test('take the same writes: the one that is not master sends them on', async () => {
    await start('pd1');
    await start('pd2');
    await settled('pd1');
    const banned = await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd2');
    expect(banned).toEqual({ code: 200, body: {} });
    expect(await store.get(keys.ban('pd2'))).toBeDefined();
    const last = await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd1');
    expect(last.code, 'the refusal of the master comes back').toBe(409);
    expect(last.body.message).toMatch(/^pd1 is the last placedriver that may be master/);
    const unknown = await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd9');
    expect(unknown).toMatchObject({ code: 404 });
    expect(await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd2&restore=true')).toMatchObject({
      code: 200,
    });
    expect(await store.get(keys.ban('pd2'))).toBeUndefined();
  });

  test.each(['optional', 'required'] as const)('over TLS that is %s as well', async (http) => {
    await start('pd1', undefined, http);
    await start('pd2', undefined, http);
    scheme = 'https';
    await settled('pd1');
    const told = (await store.get(keys.placedriver('pd1')))!.value;
    expect(JSON.parse(told)).toMatchObject({ httpTls: http });
    const banned = await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd2');
    expect(banned).toEqual({ code: 200, body: {} });
    expect(await store.get(keys.ban('pd2'))).toBeDefined();
  });

  test('take a URL with scheme and host, as a proxy sends it', async () => {
    await start('pd1');
    await start('pd2');
    await settled('pd1');
    for (const [name, before] of [
      ['pd1', 'http://pd.example:18001'],
      ['pd2', 'http://pd.example:18001'],
      ['pd2', 'https://pd.example'],
      ['pd2', ''],
    ] as const) {
      const path = `${before}/cluster/pd/tombstone?node=pd2`;
      expect(await rawAsk(name, 'POST', path), `${name} ${path}`).toEqual({ code: 200, body: {} });
      expect(await store.get(keys.ban('pd2'))).toBeDefined();
      await ask('pd1', 'POST', '/cluster/pd/tombstone?node=pd2&restore=true');
    }
  });

  test('check the token at both, and hand it on', async () => {
    await start('pd1', TOKEN);
    await start('pd2', TOKEN);
    await settled('pd1');
    const path = '/cluster/pd/tombstone?node=pd2';
    expect(await ask('pd2', 'POST', path)).toMatchObject({ code: 401 });
    const right = { authorization: `Bearer ${TOKEN}` };
    expect(await ask('pd2', 'POST', path, right)).toEqual({ code: 200, body: {} });
  });

  test('send on once only: whoever is asked so and is not master says so', async () => {
    await start('pd1');
    await start('pd2');
    await settled('pd1');
    const path = '/cluster/pd/tombstone?node=pd2';
    const { code, body } = await ask('pd2', 'POST', path, { [PASSED_ON]: 'pd7' });
    expect([code, body.message]).toEqual([
      503,
      'pd7 took pd2 for the master, which it is not (any more); try again',
    ]);
  });

  test('follow a master that goes; while there is none, say so', async () => {
    await start('pd1');
    await start('pd2');
    await settled('pd1');
    await running.get('pd1')!.stop();
    running.delete('pd1');
    await settled('pd2');
    const refused = await ask('pd2', 'POST', '/cluster/pd/tombstone?node=pd2');
    expect(refused).toMatchObject({ code: 409 });
    await store.put(
      keys.ban('pd2'),
      encodeRecord({ version: 1, name: 'pd2', sinceMs: 1 } as never),
    );
    await expect
      .poll(async () => (await ask('pd2', 'POST', '/stable/nodenum?number=1')).body.message)
      .toBe('no placedriver is master at the moment; try again');
  });
});

describe('a master that has ended, and that the store names still', () => {
  const path = '/cluster/pd/tombstone?node=pd9';
  const said = async () => (await ask('pd1', 'POST', path)).body.message;
  let lost: AbortController;

  /** Its leases are not revoked in the store, as when that cannot be reached. */
  beforeEach(async () => {
    lost = new AbortController();
    const connect = meta.connect.bind(meta);
    vi.spyOn(meta, 'connect').mockImplementation(() => {
      const client = connect();
      const grant = client.grantLease.bind(client);
      const grantLease = vi.spyOn(client, 'grantLease');
      grantLease.mockImplementation(async (ttlMs) => {
        const lease = await grant(ttlMs);
        vi.spyOn(lease, 'revoke').mockRejectedValue(new Error('the store is away'));
        vi.spyOn(lease, 'lost', 'get').mockReturnValue(lost.signal);
        return lease;
      });
      return client;
    });
    await start('pd1');
    await settled('pd1');
  });

  test('because it is banned: another is elected', async () => {
    await store.put(
      keys.ban('pd1'),
      encodeRecord({ version: 1, name: 'pd1', sinceMs: 1 } as never),
    );
    await expect
      .poll(said)
      .toBe('pd1 is master no more (it is banned); another is being elected; try again');
  });

  test('because its lease has: it may be elected again', async () => {
    const before = lost;
    lost = new AbortController();
    before.abort();
    await expect
      .poll(said)
      .toBe('pd1 is master no more (its term has ended); the next is being elected; try again');
  });
});

test('of two with one name the second says so, and is not master', async () => {
  await start('pd1');
  await settled('pd1');
  const first = running.get('pd1')!;
  await start('pd1');
  const second = running.get('pd1')!;
  running.set('first', first);
  expect(second.port).not.toBe(first.port);
  const path = '/cluster/pd/tombstone?node=pd9';
  await expect
    .poll(async () => (await ask('pd1', 'POST', path)).body.message)
    .toMatch(
      new RegExp(
        `^another placedriver has the name pd1, and is registered at [^ ]+:${first.port}: `,
      ),
    );
  expect(await ask('pd1', 'POST', path)).toMatchObject({ code: 503 });
  await first.stop();
  running.delete('first');
  await expect
    .poll(async () => (await ask('pd1', 'POST', path)).code, { timeout: 8_000 })
    .toBe(404);
});

describe('a master that does not answer', () => {
  const sent = { method: 'POST', url: '/x', headers: {}, body: undefined };
  async function passOn(port: number, timeoutMs?: number) {
    const view = new ClusterView({ store, clock: systemClock, logger: silentLogger });
    const record = { version: 1, name: 'pd1', host: '127.0.0.1', httpPort: port, build: '9' };
    await store.put(keys.placedriver('pd1'), encodeRecord(record));
    await store.put(`${keys.election}1`, 'pd1');
    view.start();
    await expect.poll(() => view.ready && view.master?.name).toBe('pd1');
    const own = { name: 'pd2', rival: () => undefined, deposed: () => undefined };
    const answer = await new PassOn({ view, clock: systemClock, ...own }, timeoutMs).send(sent);
    await view.close();
    return { status: answer.status, message: JSON.parse(answer.body).message as string };
  }

  test('in time: the outcome is not known', async () => {
    const host = '127.0.0.1';
    const silent = await tcpNetwork.listen({ host, port: 0 }, () => {});
    const { status, message } = await passOn(silent.port, 50);
    expect([status, message]).toEqual([
      504,
      `the master pd1 at 127.0.0.1:${silent.port} did not answer within 50 ms: the request may have taken effect`,
    ]);
    await silent.close();
  });

  test('because nobody listens: nothing was done', async () => {
    const silent = await tcpNetwork.listen({ host: '127.0.0.1', port: 0 }, () => {});
    await silent.close();
    const { status, message } = await passOn(silent.port);
    expect(status).toBe(503);
    expect(message).toMatch(/refuses connections: nothing was done; try again$/);
  });
});
