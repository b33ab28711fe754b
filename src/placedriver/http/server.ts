/** The placedriver's HTTP API; routes as ZanRedisDB names them. */
import fastify, { type FastifyInstance } from 'fastify';
import { messageOf } from '../../common/errors.ts';
import { addProbeRoutes, type Probes } from '../../common/http/probe-routes.ts';
import type { ClusterQueries } from '../queries.ts';

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startHttp(
  address: { readonly host: string; readonly port: number },
  queries: ClusterQueries,
  probes: Probes,
): Promise<HttpServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.setErrorHandler((failure, _request, reply) => {
    void reply.code(503).send({ message: messageOf(failure) });
  });
  app.setNotFoundHandler((request, reply) => {
    void reply.code(404).send({ message: `no route ${request.method} ${request.url}` });
  });
  addRoutes(app, queries);
  addProbeRoutes(app, probes);
  await app.listen({ host: address.host, port: address.port });
  const bound = app.server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  return { port, close: () => app.close() };
}

function addRoutes(app: FastifyInstance, queries: ClusterQueries): void {
  app.get('/ping', async (_request, reply) => reply.type('text/plain').send('OK'));
  app.get('/info', async () => ({ version: queries.version }));
  app.get('/listpd', async () => queries.placedrivers());
  app.get('/datanodes', async () => ({ nodes: await queries.datanodes() }));
  app.get('/namespaces', async () => ({ namespaces: await queries.namespaces() }));
  app.get('/cluster/stats', async () => queries.stats());
  app.get<{ Params: { namespace: string } }>('/query/:namespace', async (request, reply) => {
    const found = await queries.namespace(request.params.namespace);
    if (found === undefined) {
      return reply.code(404).send({ message: `no namespace ${request.params.namespace}` });
    }
    return found;
  });
}
