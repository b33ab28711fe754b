/** GET /v1/…: what ZanRedisDB's routes cannot say. */
import type { FastifyInstance } from 'fastify';
import { KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { runInSlices } from '../../common/slices.ts';
import { plannedMoves } from '../balance/dry-run.ts';
import { GroupStates, isSettled } from '../balance/group-states.ts';
import { balanceView } from '../balance-view.ts';
import type { Picture } from '../picture.ts';
import type { ApiContext } from './context.ts';
import {
  answers,
  listOf,
  namespaceName,
  nodeName,
  noParameters,
  objectOf,
  partitionNumber,
  revision,
  told,
} from './schemas.ts';
import { SharedWork } from './shared-work.ts';
import {
  clusterAnswer,
  eventsSchema,
  namespaceSchema,
  nodeSchema,
  operationSchema,
  partitionSchema,
  plannedSchema,
} from './v1-schemas.ts';
import {
  holdingsOf,
  namespaceAnswers,
  nodeAnswer,
  nodeNames,
  operationAnswers,
  partitionAnswer,
  partitionsOf,
  windowAnswer,
} from './v1-shapes.ts';
import { byText, zanStats } from './zan-shapes.ts';

const reading = (
  summary: string,
  answer: object,
  params: Readonly<Record<string, object>> = {},
) => {
  const names = Object.keys(params);
  return {
    schema: {
      tags: ['v1'],
      summary,
      querystring: noParameters,
      ...(names.length > 0 && { params: objectOf(params, ...names) }),
      response: { 200: answer, ...answers(...(names.length > 0 ? [400, 404, 503] : [400, 503])) },
    },
  };
};

export function addV1Reads(app: FastifyInstance, context: ApiContext): void {
  app.get('/v1/cluster', reading('the whole cluster in one look', clusterAnswer), async () =>
    clusterNow(context),
  );
  addNodeReads(app, context);
  addNamespaceReads(app, context);
  addWorkReads(app, context);
}

function clusterNow(context: ApiContext) {
  const { view, clock, name, version, placement } = context;
  const { picture, master, clusterId } = view;
  const control = picture.control()?.record;
  const banned = new Set(picture.banned().map((record) => record.name));
  const { frozen, unbalanced } = balanceView(picture, placement, clock.wallMs()).stability;
  const records = picture.shownPartitions();
  const alive = picture.aliveNodes();
  return {
    clusterId: clusterId ?? null,
    version,
    placedriver: name,
    master: master?.name ?? null,
    placedrivers: byText(picture.placedrivers(), (one) => one.name).map((one) => ({
      name: one.name,
      host: one.host,
      httpPort: one.httpPort,
      build: one.build,
      master: one.name === master?.name,
      banned: banned.has(one.name),
    })),
    revision: view.revision,
    staleMs: context.awayForMs() ?? null,
    stability: { frozen: frozen ?? null, unbalanced: unbalanced ?? null },
    nodes: {
      alive: alive.length,
      stable: control?.stableNodes ?? alive.length,
      draining: picture.nodeStates().filter(({ record }) => record.draining).length,
    },
    partitions: {
      total: records.length,
      led: zanStats(picture).led,
      settled: records.filter((record) => isSettled(record, picture.leading(record))).length,
    },
    balance: {
      enabled: control?.balance.enabled ?? true,
      window: windowAnswer(control?.balance.window),
    },
    upgrade: {
      on: control?.upgradeSinceMs !== undefined,
      sinceMs: control?.upgradeSinceMs ?? null,
    },
  };
}

function addNodeReads(app: FastifyInstance, { view, clock, placement }: ApiContext): void {
  const statesAt = (picture: Picture, nowMs: number) => {
    let states: GroupStates | undefined;
    return () => (states ??= new GroupStates(balanceView(picture, placement, nowMs)));
  };
  app.get('/v1/nodes', reading('all datanodes', told({ nodes: listOf(nodeSchema) })), async () => {
    const { picture } = view;
    const holdings = holdingsOf(picture);
    const nowMs = clock.wallMs();
    const states = statesAt(picture, nowMs);
    const answer = (one: NodeId) => nodeAnswer(picture, one, holdings, nowMs, states);
    return { nodes: nodeNames(picture).map(answer) };
  });
  app.get<{ Params: { node: string } }>(
    '/v1/nodes/:node',
    reading('one datanode', nodeSchema, { node: nodeName }),
    async ({ params: { node } }) => {
      const { picture } = view;
      const nowMs = clock.wallMs();
      const states = statesAt(picture, nowMs);
      const found = nodeAnswer(picture, node, holdingsOf(picture), nowMs, states);
      return found ?? missing(`no node ${node}`);
    },
  );
}

function addNamespaceReads(app: FastifyInstance, { view }: ApiContext): void {
  const find = (name: string) => view.picture.namespace(name) ?? missing(`no namespace ${name}`);
  app.get(
    '/v1/namespaces',
    reading('all namespaces', told({ namespaces: listOf(namespaceSchema) })),
    async () => {
      const { picture } = view;
      const records = byText(picture.namespaces(), ({ name }) => name);
      return { namespaces: namespaceAnswers(picture, records) };
    },
  );
  app.get<{ Params: { namespace: string } }>(
    '/v1/namespaces/:namespace',
    reading('one namespace', namespaceSchema, { namespace: namespaceName }),
    async ({ params }) => namespaceAnswers(view.picture, [find(params.namespace)])[0],
  );
  app.get<{ Params: { namespace: string } }>(
    '/v1/namespaces/:namespace/partitions',
    reading('its partitions', told({ partitions: listOf(partitionSchema) }), {
      namespace: namespaceName,
    }),
    async ({ params }) => {
      const { picture } = view;
      const records = partitionsOf(picture, find(params.namespace).name);
      return { partitions: records.map((record) => partitionAnswer(picture, record)) };
    },
  );
  app.get<{ Params: { namespace: string; partition: number } }>(
    '/v1/namespaces/:namespace/partitions/:partition',
    reading('one partition', partitionSchema, {
      namespace: namespaceName,
      partition: partitionNumber,
    }),
    async ({ params: { namespace, partition } }) => {
      const records = partitionsOf(view.picture, find(namespace).name);
      const record = records.find((one) => one.partition === partition);
      if (record === undefined) return missing(`no partition ${namespace}/${partition}`);
      return partitionAnswer(view.picture, record);
    },
  );
}

async function planNow({ view, clock, placement }: ApiContext) {
  const now = balanceView(view.picture, placement, clock.wallMs());
  const { frozen, unbalanced } = now.stability;
  const moves = await runInSlices(plannedMoves(now), clock, limits.planSliceMs);
  return {
    frozen: frozen ?? null,
    unbalanced: unbalanced ?? null,
    moves: moves.map(({ from, to, waitsFor, ...what }) => {
      return { ...what, from: from ?? null, to: to ?? null, waitsFor: waitsFor ?? null };
    }),
  };
}

function addWorkReads(app: FastifyInstance, context: ApiContext): void {
  const { view, clock } = context;
  const planned = new SharedWork(clock, () => planNow(context));
  app.get(
    '/v1/operations',
    reading('what is being done', told({ operations: listOf(operationSchema) })),
    async () => ({ operations: operationAnswers(view.picture, clock.wallMs()) }),
  );
  app.get(
    '/v1/moves/planned',
    reading('which replicas would move, and what holds them back', plannedSchema),
    async () => planned.ask(),
  );
  const schema = {
    tags: ['v1'],
    summary: 'what happened lately, as this placedriver saw it',
    querystring: objectOf({ since: { ...revision, description: 'only what came after it' } }),
    response: { 200: eventsSchema, ...answers(400, 503) },
  };
  app.get<{ Querystring: { since?: number } }>('/v1/events', { schema }, async ({ query }) => {
    const told = view.toldEvents(query.since ?? 0);
    return {
      ...told,
      events: told.events.map(({ revision: by, atMs, event }) => ({
        revision: by,
        atMs,
        ...event,
      })),
    };
  });
}

function missing(what: string): never {
  throw new KvorumError('NOT_FOUND', what);
}
