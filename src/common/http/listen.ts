/** Where an HTTP door listens: at one address, with one server. */
import dns from 'node:dns';
import type { FastifyInstance } from 'fastify';
import type { Address } from '../network.ts';

/** Resolves to the port; rejects when the address is taken. */
export async function listenHttp(app: FastifyInstance, { host, port }: Address): Promise<number> {
  await app.listen({ host: await oneAddressOf(host), port });
  const bound = app.server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : port;
}

/**
 * For the name `localhost` fastify makes a server per address, and only the first is `app.server`,
 * whose connections are counted. Clients that go by the name try IPv4 in any case.
 */
async function oneAddressOf(host: string): Promise<string> {
  if (host !== 'localhost') return host;
  return (await dns.promises.lookup(host, { verbatim: false })).address;
}
