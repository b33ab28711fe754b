/** GET /v1/openapi.json: every route, from the schemas that requests are checked against. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

/** Before the first route. */
export async function describeRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'kvorum placedriver',
        version,
        description:
          'Any placedriver answers reads, from what it knows of the metadata store; a header ' +
          'kvorum-stale-ms says that it has lost sight of it. Writes are sent on to the master.',
      },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    },
  });
}

/** After the last route. */
export function addOpenapi(app: FastifyInstance): void {
  const schema = { tags: ['v1'], summary: 'this document', response: { 200: { type: 'object' } } };
  app.get('/v1/openapi.json', { schema }, async () => app.swagger());
}
