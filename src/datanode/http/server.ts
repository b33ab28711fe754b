/** A datanode's HTTP door: is it there, what do its replicas do, what does it measure. */
import fastify, { type FastifyInstance } from 'fastify';
import { clientErrorHandler } from '../../common/http/client-errors.ts';
import { boundConnections } from '../../common/http/connection-room.ts';
import { listenHttp } from '../../common/http/listen.ts';
import { addProbeRoutes, type Probes } from '../../common/http/probe-routes.ts';
import { requestTime } from '../../common/http/request-time.ts';
import { type HttpTls, secureDoor } from '../../common/http/secure-door.ts';
import { limits } from '../../common/limits.ts';
import type { Address } from '../../common/network.ts';
import { KVORUM_VERSION } from '../../common/version.ts';
import type { ReplicaStatus } from '../status.ts';
import { addZanRoutes, zanRoutes } from './zan-routes.ts';

export interface NodeStatus {
  readonly node: string;
  readonly incarnation: string;
  readonly version: string;
  /** Serving: it has its table, its replicas are open and their leaders known. */
  readonly ready: boolean;
  /** Replicas that stopped after a fault, by group, with the reason. */
  readonly faults: Readonly<Record<string, string>>;
  readonly partitions: readonly ReplicaStatus[];
}

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HttpSources extends Probes {
  /** Undefined until the node has its place in the cluster: it answers for itself before. */
  status(): NodeStatus | undefined;
}

/** Rejects when the address is taken. */
export async function startHttp(
  address: Address,
  sources: HttpSources,
  tls?: HttpTls,
): Promise<HttpServer> {
  const app = createApp(sources);
  secureDoor(app, tls);
  const port = await listenHttp(app, address);
  return { port, close: () => app.close() };
}

/** All routes, without a socket. */
export function createApp(sources: HttpSources): FastifyInstance {
  const app = fastify({
    logger: false,
    forceCloseConnections: true,
    ...requestTime(),
    clientErrorHandler,
    // NAMESPACE-PARTITION of the longest namespace, and what is longer is refused by the route
    routerOptions: { maxParamLength: 4 * limits.namespaceNameMax },
  });
  boundConnections(app, limits.httpConnectionsMax.datanode);
  app.get('/ping', async (_request, reply) => reply.type('text/plain').send('OK'));
  app.get('/status', async (_request, reply) => {
    const status = sources.status();
    if (status !== undefined) return status;
    return reply.code(503).send({ message: 'this datanode is starting; see /readyz' });
  });
  addZanRoutes(app, KVORUM_VERSION, sources.status);
  addProbeRoutes(app, sources);
  app.setNotFoundHandler((request, reply) => {
    const routes = `/ping, /status, ${zanRoutes.join(', ')}, /livez, /readyz and /metrics`;
    const message = `no route ${request.method} ${request.url}; there are ${routes}`;
    void reply.code(404).send({ message });
  });
  return app;
}
