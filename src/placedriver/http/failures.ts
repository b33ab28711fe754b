/** What a request that failed is told: a status, and `{message}`. */
import type { FastifyInstance } from 'fastify';
import { codeOf, type ErrorCode, messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';

const statuses: Partial<Record<ErrorCode, number>> = {
  BAD_ARGUMENT: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  STORE_UNAVAILABLE: 503,
  STORE_REPLACED: 503,
  STORE_LIMIT: 503,
  LEASE_LOST: 503,
  STOPPING: 503,
  DEADLINE: 504,
};

/** The status of anything thrown. */
export function statusOf(failure: unknown): number {
  const code = codeOf(failure);
  if (code !== undefined) return statuses[code] ?? 500;
  // the framework's own: a body too large, JSON that is none
  const status = (failure as { readonly statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' && status >= 400 ? status : 500;
}

/** The framework names no bound. */
function textOf(failure: unknown, status: number): string {
  if (status !== 413) return messageOf(failure);
  return `the body is longer than ${limits.httpBodyBytesMax} bytes: name less at once`;
}

export function addFailures(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((failure, request, reply) => {
    const status = statusOf(failure);
    const message = textOf(failure, status);
    if (status === 500) logger.error('request failed', { url: request.url, error: message });
    if (status === 503) reply.header('retry-after', '1');
    void reply.code(status).send({ message });
  });
  app.setNotFoundHandler((request, reply) => {
    const message = `no route ${request.method} ${request.url}; see /v1/openapi.json`;
    void reply.code(404).send({ message });
  });
}
