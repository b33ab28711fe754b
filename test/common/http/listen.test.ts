/** An HTTP door is one server, whatever its address is called: only that one's connections are bounded. */
import dns from 'node:dns';
import { createServer } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listenHttp } from '../../../src/common/http/listen.ts';

let app: FastifyInstance;

beforeEach(() => {
  app = fastify();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.close();
});

/** The machine's resolver knows `localhost` by both addresses, IPv6 first. */
function resolveToBoth(): void {
  const both = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
  const { lookup } = dns;
  vi.spyOn(dns, 'lookup').mockImplementation(((host: string, ...rest: unknown[]) => {
    const [options, done] = [
      rest[0] as dns.LookupOptions,
      rest.at(-1) as (...told: unknown[]) => void,
    ];
    if (host !== 'localhost') return Reflect.apply(lookup, dns, [host, ...rest]);
    return options.all ? done(null, both) : done(null, '::1', 6);
  }) as typeof lookup);
  vi.spyOn(dns.promises, 'lookup').mockImplementation(
    (async (_host: string, { verbatim }: dns.LookupOptions) =>
      both[verbatim === false ? 1 : 0]) as typeof dns.promises.lookup,
  );
}

const hasIpv6 = await new Promise<boolean>((resolve) => {
  const server = createServer().on('error', () => resolve(false));
  server.listen(0, '::1', () => server.close(() => resolve(true)));
});

test.skipIf(!hasIpv6)('localhost is one of its two addresses', async () => {
  resolveToBoth();
  const port = await listenHttp(app, { host: 'localhost', port: 0 });
  expect(app.addresses()).toEqual([{ address: '127.0.0.1', family: 'IPv4', port }]);
});

test('localhost is where this machine has it', async () => {
  const port = await listenHttp(app, { host: 'localhost', port: 0 });
  const answer = await fetch(`http://localhost:${port}/none`);
  expect([answer.status, app.addresses().length]).toEqual([404, 1]);
});

test('an address that is taken is refused', async () => {
  const port = await listenHttp(app, { host: '127.0.0.1', port: 0 });
  const other = fastify();
  await expect(listenHttp(other, { host: 'localhost', port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  await other.close();
});
