/** The placedriver's HTTP API: ZanRedisDB's routes, those of /v1, and the probes. */
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { clientErrorHandler } from '../../common/http/client-errors.ts';
import { boundConnections } from '../../common/http/connection-room.ts';
import { listenHttp } from '../../common/http/listen.ts';
import { addProbeRoutes, type Probes } from '../../common/http/probe-routes.ts';
import { requestTime } from '../../common/http/request-time.ts';
import { type HttpTls, secureDoor } from '../../common/http/secure-door.ts';
import { limits } from '../../common/limits.ts';
import type { ApiContext } from './context.ts';
import { addFailures, statusOf } from './failures.ts';
import { addLogLevel } from './log-level.ts';
import { addOpenapi, describeRoutes } from './openapi.ts';
import { addV1Reads } from './v1-reads.ts';
import { addV1Writes } from './v1-writes.ts';
import { addBodyParsers, addValidation } from './validation.ts';
import { createWrites } from './writes.ts';
import { addZanReads } from './zan-reads.ts';
import { addZanWrites } from './zan-writes.ts';

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when the address is taken. */
export async function startHttp(
  address: { readonly host: string; readonly port: number },
  context: ApiContext,
  probes: Probes,
  tls?: HttpTls,
): Promise<HttpServer> {
  const app = await createApi(context, probes);
  secureDoor(app, tls);
  const port = await listenHttp(app, address);
  return { port, close: () => app.close() };
}

/** All routes, without a socket. */
export async function createApi(context: ApiContext, probes: Probes): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    forceCloseConnections: true,
    ...requestTime(),
    clientErrorHandler,
    bodyLimit: limits.httpBodyBytesMax,
    // before there is a route: a path that is none
    frameworkErrors: (failure, _request, reply) => {
      (reply as FastifyReply).code(statusOf(failure)).send({ message: failure.message });
    },
    // a longer name is refused by its own rule, which the answer tells
    routerOptions: { maxParamLength: 4 * limits.namespaceNameMax },
  });
  boundConnections(app, limits.httpConnectionsMax.placedriver);
  addFailures(app, context.logger);
  addValidation(app);
  addBodyParsers(app);
  await describeRoutes(app, context.version);
  app.addHook('onSend', async (_request, reply) => {
    const awayMs = context.awayForMs();
    if (awayMs !== undefined) reply.header('kvorum-stale-ms', String(awayMs));
  });
  addZanReads(app, context);
  addV1Reads(app, context);
  const write = createWrites(app, context);
  addZanWrites(write);
  addV1Writes(write);
  addLogLevel(app, context);
  addProbeRoutes(app, probes);
  addOpenapi(app);
  return app;
}
