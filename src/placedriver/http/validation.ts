/**
 * Requests are checked against their route's schema, and a refusal names the parameter and says what
 * it must be. Query and path parameters are texts and may stand for numbers; bodies are JSON and mean
 * what they say: a "3" there is no 3. Parameters that a route does not know are refused.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify';
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';

/** Of one parameter, as the schemas here use it. */
export interface ParameterSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, ParameterSchema>>;
}

const shared = {
  allErrors: false,
  removeAdditional: false,
  useDefaults: false,
  verbose: true,
  allowUnionTypes: true,
} as const;
const texts = new Ajv({ ...shared, coerceTypes: true });
const json = new Ajv({ ...shared, coerceTypes: false });

export function addValidation(app: FastifyInstance): void {
  const compiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
    if (httpPart === 'body') return judge(json.compile(schema));
    const validate = judge(texts.compile(schema));
    const { properties = {} } = schema as ParameterSchema;
    return (data: Readonly<Record<string, unknown>>) => {
      const wrong = Object.entries(properties).find(([name, own]) =>
        isOtherNumber(own, data[name]),
      );
      if (wrong === undefined) return validate(data);
      return { error: badArgument(`${wrong[0]} must be ${mustBe(wrong[1])}`) };
    };
  };
  const judge = (validate: ValidateFunction) => {
    return (data: unknown) => {
      if (validate(data)) return { value: data };
      return { error: badArgument(refusal(validate.errors?.[0])) };
    };
  };
  app.setValidatorCompiler(compiler);
  // Schemas of answers are documentation, and tests hold the answers against them.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
}

/** What means a number elsewhere: 0x10, 1e2, 1.0, or with blanks around it. */
function isOtherNumber({ type }: ParameterSchema, value: unknown): boolean {
  return type === 'integer' && typeof value === 'string' && !/^-?[0-9]+$/.test(value);
}

function badArgument(text: string): KvorumError {
  return new KvorumError('BAD_ARGUMENT', text);
}

/** What a refused request is told; pure. */
export function refusal(error: ErrorObject | undefined): string {
  if (error === undefined) return 'the request is wrong';
  const { keyword, params, instancePath, parentSchema } = error;
  const place = instancePath.slice(1).replaceAll('/', '.');
  const own = parentSchema as ParameterSchema;
  if (keyword === 'required') {
    const name = String(params['missingProperty']);
    return `${joined(place, name)} is missing: it must be ${mustBe(own.properties?.[name] ?? {})}`;
  }
  if (keyword === 'additionalProperties') {
    const known = Object.keys(own.properties ?? {});
    const those = known.length > 0 ? `there are ${known.join(', ')}` : 'there are none here';
    return `there is no parameter ${joined(place, String(params['additionalProperty']))}; ${those}`;
  }
  if (keyword === 'minProperties') return 'nothing to change is named';
  if (place === '') return 'the body must be a JSON object (content-type application/json)';
  return `${place} must be ${mustBe(own)}`;
}

const joined = (place: string, name: string) => (place === '' ? name : `${place}.${name}`);

function mustBe({ type, description, enum: values, minimum, maximum }: ParameterSchema): string {
  const what = description === undefined ? '' : `: ${description}`;
  if (values !== undefined) return `one of ${values.join(', ')}${what}`;
  if (type === 'integer' && minimum !== undefined && maximum !== undefined) {
    return `a whole number from ${minimum} to ${maximum}${what}`;
  }
  if (type === 'integer') return `a whole number${what}`;
  if (type === 'boolean') return `true or false${what}`;
  if (type === 'array') return `a list${what}`;
  if (type === 'object') return `an object${what}`;
  return description ?? 'a text';
}

/** Bodies are JSON; one without content, of whatever type it says it is, is none. */
export function addBodyParsers(app: FastifyInstance): void {
  const bodyLimit = limits.httpBodyBytesMax;
  const readJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string', bodyLimit },
    (request, body, done) => {
      if (body.length === 0) return done(null, undefined);
      return readJson(request, body, done);
    },
  );
  app.addContentTypeParser<string>(
    '*',
    { parseAs: 'string', bodyLimit },
    (_request, body, done) => {
      if (body.length === 0) return done(null, undefined);
      done(badArgument('the body must be JSON (content-type application/json)'));
    },
  );
}

/** For routes that are told nothing by a body: one that says something is a mistake. */
export function checkNoBody(body: unknown): void {
  if (body === undefined || body === null) return;
  if (typeof body === 'object' && Object.keys(body).length === 0) return;
  throw badArgument('this takes no body: its parameters are in the path and in the query');
}
