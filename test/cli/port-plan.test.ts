import { createServer, Server } from 'node:net';
import { expect, test, vi } from 'vitest';
import { choosePorts, planPorts, requireFree } from '../../src/cli/port-plan.ts';

test.each([
  ['transport and HTTP', 12_500, 18_001],
  ['at the first cluster port whose transport would be among them', 22_768, 18_001],
  ['whatever would lie behind the last port', 65_500, 65_534],
  ['all that follow cluster ports', 37_001, 18_001],
  ['the store beside its HTTP door', 7_001, 38_001],
])('inner ports lie below those of outgoing connections: %s', async (_, clusterPort, httpPort) => {
  const doors = { nodes: 3, port: 36_379, clusterPort, httpPort };
  const { meta, datanodes } = await planPorts({ ...doors, embedded: true });
  const inner = datanodes.flatMap(({ follower, transport, http }) => [follower, transport, http]);
  const all = [meta!, ...inner];
  expect(new Set(all).size).toBe(10);
  expect(all.filter((port) => port >= 32_000)).toEqual([]);
});

const doors = { nodes: 1, port: 6_379, clusterPort: 7_001, httpPort: 18_001 };

test('inner ports of a directory stay, also among those of outgoing connections', async () => {
  const [meta, follower, transport, http] = await freeFrom(18_002, 38_001, 47_001, 57_001);
  const node = { gateway: 1, cluster: 2, follower: follower!, transport: transport!, http: http! };
  const plan = await choosePorts({ meta: meta!, http: 1, datanodes: [node] }, doors);
  expect(plan.meta).toBe(meta);
  expect(plan.datanodes).toEqual([{ ...node, gateway: 6_379, cluster: 7_001 }]);
});

test('inner ports that another program has taken meanwhile are chosen anew, and no others', async () => {
  const [meta, follower, transport, http] = await freeFrom(18_002, 20_001, 21_001, 22_001);
  const node = { gateway: 1, cluster: 2, follower: follower!, transport: transport!, http: http! };
  const servers = [await listen(meta!), await listen(transport!)];
  const plan = await choosePorts({ meta: meta!, http: 1, datanodes: [node] }, doors);
  for (const server of servers) server.close();
  expect(plan.datanodes).toMatchObject([{ follower, http }]);
  expect([plan.meta, plan.datanodes[0]!.transport]).not.toContain(meta);
  expect(plan.datanodes[0]!.transport).not.toBe(transport);
  const all = [plan.meta, ...Object.values(plan.datanodes[0]!)];
  expect(new Set(all).size).toBe(all.length);
});

test.each([
  [28_000, false],
  [61_000, true],
])(
  'a port from %i on is taken: told whether it may be an outgoing connection',
  async (from, may) => {
    const server = await listen(from);
    const { port } = server.address() as { readonly port: number };
    const failure: unknown = await requireFree({ http: port, datanodes: [] }).catch(
      (error) => error,
    );
    server.close();
    const text = `port ${port} is taken by another program; stop it or choose another --http-port`;
    expect(String(failure)).toContain(text);
    expect(/outgoing connections: if it is one, start again/.test(String(failure))).toBe(may);
  },
);

test('a port that its user may not use is not said to be taken', async () => {
  const listening = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (
    this: Server,
  ) {
    const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    process.nextTick(() => this.emit('error', refused));
    return this;
  });
  const failure = requireFree({ http: 80, datanodes: [] });
  await expect(failure).rejects.toThrow(
    'port 80 may not be used by this user; ports from 1024 on may: choose another --http-port',
  );
  listening.mockRestore();
});

/** Ports of loopback that are free, each the first from one of `starts` on. */
async function freeFrom(...starts: readonly number[]): Promise<number[]> {
  const servers = [];
  for (const start of starts) servers.push(await listen(start));
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** On the first free port of loopback from `port` on. */
async function listen(port: number): Promise<Server> {
  const server = createServer();
  const found = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => resolve(true));
  });
  return found ? server : listen(port + 1);
}
