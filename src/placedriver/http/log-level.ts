/** What this one process logs: asked of each for itself, so it is not sent on to the master. */
import type { FastifyInstance } from 'fastify';
import type { ApiContext, LogLevel } from './context.ts';
import { objectOf, oneOf } from './schemas.ts';
import { describeWrite, needToken } from './writes.ts';

/** ZanRedisDB's numbers; 4 was one finer than debug. */
const levels: Readonly<Record<string, LogLevel>> = {
  '0': 'error',
  '1': 'warn',
  '2': 'info',
  '3': 'debug',
  '4': 'debug',
  error: 'error',
  warn: 'warn',
  info: 'info',
  debug: 'debug',
};

export function addLogLevel(app: FastifyInstance, context: ApiContext): void {
  const level = oneOf(Object.keys(levels), 'what this placedriver logs, until it is restarted');
  app.post<{ Querystring: { loglevel: string } }>(
    '/loglevel/set',
    {
      schema: describeWrite({
        tags: ['ZanRedisDB'],
        summary: 'what this placedriver logs',
        querystring: objectOf({ loglevel: level }, 'loglevel'),
      }),
      onRequest: needToken(context),
    },
    async ({ query }) => {
      const wanted = levels[query.loglevel]!;
      context.setLogLevel(wanted);
      context.logger.info('logs from now on', { level: wanted });
      return { loglevel: wanted };
    },
  );
}
