/** What ZanRedisDB's placedriver answers, by the same routes; from any placedriver here. */
import type { FastifyInstance } from 'fastify';
import { KvorumError } from '../../common/errors.ts';
import type { ApiContext } from './context.ts';
import { QueryAnswers } from './query-answers.ts';
import {
  answers,
  byName,
  flagField,
  listOf,
  namespaceName,
  noParameters,
  numberField,
  objectOf,
  revision,
  textField,
  told,
  yesOrNo,
} from './schemas.ts';
import { zanNamespace, zanNamespaces, zanNodes, zanPlacedrivers, zanStats } from './zan-shapes.ts';

const tags = ['ZanRedisDB'];

const node = told({
  node_id: textField,
  broadcast_address: textField,
  hostname: textField,
  redis_port: textField,
  follower_port: textField,
  http_port: textField,
  grpc_port: textField,
  version: textField,
  dc_info: textField,
});

const placedriver = told({
  RegID: numberField,
  ID: textField,
  NodeIP: textField,
  Hostname: textField,
  RedisPort: textField,
  HttpPort: textField,
  RpcPort: textField,
  RaftTransportAddr: textField,
  Version: textField,
  Tags: byName(flagField),
  DataRoot: textField,
  RsyncModule: textField,
  LearnerRole: textField,
  Epoch: numberField,
});

const query = told({
  epoch: numberField,
  partition_num: numberField,
  replicator: numberField,
  expire_policy: textField,
  fsync_optimized: flagField,
  eng_type: textField,
  hash: textField,
  partitions: byName(told({ leader: node, replicas: listOf(node) })),
});

const stats = told({
  stable: flagField,
  placedriver: textField,
  master: flagField,
  datanodes: numberField,
  partitions: numberField,
  led: numberField,
  stopped: { ...numberField, description: 'replicas that stopped after a fault' },
});

const reading = (summary: string, answer: object, more: object = {}) => ({
  schema: {
    tags,
    summary,
    querystring: noParameters,
    response: { 200: answer, ...answers(400, 503) },
    ...more,
  },
});

export function addZanReads(app: FastifyInstance, context: ApiContext): void {
  const { view, name, version } = context;
  app.get('/ping', reading('OK while the process runs', textField), async (_request, reply) =>
    reply.type('text/plain').send('OK'),
  );
  app.get('/info', reading('version of kvorum', told({ version: textField })), async () => ({
    version,
  }));
  app.get(
    '/listpd',
    reading('placedrivers', told({ pdnodes: listOf(placedriver), pdleader: placedriver })),
    async () => zanPlacedrivers(view),
  );
  app.get('/datanodes', reading('living datanodes', told({ nodes: listOf(node) })), async () => ({
    nodes: zanNodes(view.picture),
  }));
  app.get(
    '/namespaces',
    reading('names of the namespaces', told({ namespaces: listOf(textField) })),
    async () => ({ namespaces: zanNamespaces(view.picture) }),
  );
  app.get('/cluster/stats', reading('is all well', stats), async () => ({
    ...zanStats(view.picture),
    placedriver: name,
    master: context.operator() !== undefined,
  }));
  addQuery(app, context);
}

interface Query {
  Params: { namespace: string };
  Querystring: { epoch?: number; disable_cache?: boolean };
}

function addQuery(app: FastifyInstance, { view }: ApiContext): void {
  const written = new QueryAnswers();
  const schema = {
    tags,
    summary: 'partitions of a namespace, who leads them and who holds them',
    params: objectOf({ namespace: namespaceName }, 'namespace'),
    querystring: objectOf({
      epoch: { ...revision, description: 'of the last answer: 304 while nothing has changed' },
      disable_cache: yesOrNo('true: read from the metadata store, not from what is known of it'),
    }),
    response: {
      200: query,
      304: { type: 'null', description: 'nothing has changed' },
      ...answers(400, 404, 503),
    },
  };
  app.get<Query>('/query/:namespace', { schema }, async ({ params, query }, reply) => {
    const { namespace } = params;
    const { disable_cache: anew = false, epoch: known = 0 } = query;
    const {
      picture,
      epoch,
      revision: asOf,
    } = anew ? await view.fresh(namespace) : view.of(namespace);
    if (!picture.namespace(namespace)?.ready) {
      throw new KvorumError('NOT_FOUND', `no namespace ${namespace}`);
    }
    // the epoch of another placedriver may be later, though nothing has changed in between
    if (epoch <= known && known <= asOf) return reply.code(304).send();
    const body = anew
      ? JSON.stringify(zanNamespace(picture, namespace, epoch))
      : written.of(picture, namespace, epoch);
    return reply.type('application/json; charset=utf-8').send(body);
  });
}
