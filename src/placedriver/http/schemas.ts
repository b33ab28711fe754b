/** Parameters and answers that several routes of the HTTP API have in common. */
import { limits } from '../../common/limits.ts';
import type { ParameterSchema } from './validation.ts';

export const tokenSecurity = [{ token: [] }];

/** Schema of an object that knows just these properties. */
export function objectOf(
  properties: Readonly<Record<string, object>>,
  ...required: readonly string[]
): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** For routes that take no query parameters: one that is given is a mistake. */
export const noParameters = objectOf({});

const message = { type: 'object', properties: { message: { type: 'string' } } };

const meanings: Readonly<Record<number, string>> = {
  400: 'a parameter is wrong; the message names it and says what it must be',
  401: 'a token is needed',
  403: 'the token is not the configured one',
  404: 'what is named does not exist',
  409: 'not now; the message says why and what to do',
  503: 'the master or the metadata store is out of reach; try again',
  504: 'the master did not answer in time: the request may have taken effect',
};

/** Schemas of refusals. */
export function answers(...statuses: readonly number[]): Record<number, object> {
  return Object.fromEntries(
    statuses.map((status) => [status, { ...message, description: meanings[status] }]),
  );
}

const text = (description: string, pattern: string) => ({ type: 'string', pattern, description });

export const namespaceName = text(
  `name of a namespace: letters, digits and underscore, ${limits.namespaceNameMax} at most`,
  `^[A-Za-z0-9_]{1,${limits.namespaceNameMax}}$`,
);
export const nodeName = text(
  'name of a node: letters, digits, dot, dash and underscore, 63 at most',
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
);
export const tag = text(
  'a tag that nodes must have: NAME, or NAME=VALUE',
  '^[A-Za-z0-9_.-]{1,63}(=[A-Za-z0-9_.:/-]{0,255})?$',
);

export const whole = (minimum: number, maximum: number, description: string): ParameterSchema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});

export const oneOf = (values: readonly string[], description: string): ParameterSchema => ({
  type: 'string',
  enum: values,
  description,
});

export const yesOrNo = (description: string): ParameterSchema => ({ type: 'boolean', description });

export const partitionCount = whole(
  1,
  limits.namespacePartitionsMax,
  'how many partitions the namespace has, for ever',
);
export const replicaCount = whole(
  1,
  limits.namespaceReplicasMax,
  'how many replicas each partition has',
);
export const partitionNumber = whole(0, 16_383, 'number of a partition');
export const hash = oneOf(['slots', 'murmur3'], 'how keys are dealt out to partitions');
export const reads = oneOf(['linearizable', 'lease'], 'how reads are confirmed');
export const revision = whole(0, Number.MAX_SAFE_INTEGER, 'a revision of the metadata store');
export const nodeCount = whole(1, 100_000, 'a number of nodes');

export const textField = { type: 'string' };
export const numberField = { type: 'number' };
export const flagField = { type: 'boolean' };
export const textOrNull = { type: ['string', 'null'] };
export const numberOrNull = { type: ['number', 'null'] };

/** Answers: every property is there. */
export function told(properties: Readonly<Record<string, object>>, description = ''): object {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false, description };
}

export const listOf = (items: object) => ({ type: 'array', items });
export const byName = (values: object) => ({ type: 'object', additionalProperties: values });
