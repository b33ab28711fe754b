/**
 * A route that changes the cluster: the token first, then the parameters, then the master does it,
 * this one or another.
 */
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
} from 'fastify';
import { KvorumError } from '../../common/errors.ts';
import type { Operator } from '../operator/operator.ts';
import type { ApiContext } from './context.ts';
import { PASSED_ON, PassOn } from './pass-on.ts';
import { answers, tokenSecurity } from './schemas.ts';
import { judgeToken } from './token.ts';
import { checkNoBody } from './validation.ts';

/** What a request brings, checked against the route's schema. */
export interface WriteRequest {
  readonly query?: unknown;
  readonly params?: unknown;
  readonly body?: unknown;
}

export interface WriteOptions<Request extends WriteRequest> {
  readonly method: HTTPMethods;
  readonly url: string;
  readonly schema: FastifySchema;
  /** Arguments of the operator that are called otherwise here: a refusal names the parameter. */
  readonly called?: Readonly<Record<string, string>>;
  /** Throws as Operator's requests do. */
  run(operator: Operator, request: Request): Promise<void>;
}

export type AddWrite = <Request extends WriteRequest>(options: WriteOptions<Request>) => void;

export function createWrites(app: FastifyInstance, context: ApiContext): AddWrite {
  const { logger } = context;
  const passOn = new PassOn(context);
  return <Request extends WriteRequest>(options: WriteOptions<Request>) => {
    app.route({
      method: options.method,
      url: options.url,
      schema: describeWrite(options.schema),
      onRequest: needToken(context),
      handler: async (request, reply) => {
        if (options.schema.body === undefined) checkNoBody(request.body);
        const operator = context.operator();
        if (operator === undefined) {
          const { method, url, headers, body } = request;
          const answer = await passOn.send({ method, url, headers, body });
          return reply.code(answer.status).type(answer.type).send(answer.body);
        }
        // the schema has said that it is one
        await options.run(operator, request as unknown as Request).catch((failure: unknown) => {
          throw renamed(failure, options.called);
        });
        logger.info('carried out for an operator', {
          request: `${request.method} ${request.url}`,
          from: request.headers[PASSED_ON] ?? request.ip,
        });
        return {};
      },
    });
  };
}

/** A refusal begins with the argument that it is about. */
function renamed(failure: unknown, called: Readonly<Record<string, string>> = {}): unknown {
  if (!(failure instanceof KvorumError)) return failure;
  const [, name = '', rest = ''] = /^(\w+)(: [\s\S]*)$/.exec(failure.message) ?? [];
  if (!Object.hasOwn(called, name)) return failure;
  return new KvorumError(failure.code, `${called[name]}${rest}`, { cause: failure });
}

/** An onRequest hook. */
export function needToken({ token }: ApiContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const refused = judgeToken(token, request.headers.authorization);
    if (refused === undefined) return;
    if (refused.status === 401) reply.header('www-authenticate', 'Bearer');
    await reply.code(refused.status).send({ message: refused.message });
  };
}

export function describeWrite(schema: FastifySchema): FastifySchema {
  const response = {
    200: { description: 'it is decided; what follows from it is under way', type: 'object' },
    ...answers(400, 401, 403, 404, 409, 503, 504),
  };
  return { ...schema, security: tokenSecurity, response };
}
