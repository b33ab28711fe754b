/** What /v1 is asked to do; parameters are JSON bodies. */
import { limits } from '../../common/limits.ts';
import type { BalanceChange, NamespaceChange, NamespaceSpec } from '../operator/operator.ts';
import {
  hash,
  namespaceName,
  nodeCount,
  nodeName,
  noParameters,
  objectOf,
  partitionCount,
  partitionNumber,
  reads,
  replicaCount,
  tag,
  yesOrNo,
} from './schemas.ts';
import { minuteOfDay } from './v1-shapes.ts';
import type { AddWrite } from './writes.ts';

const schemaOf = (
  summary: string,
  params?: Readonly<Record<string, object>>,
  body?: object,
): object => ({
  tags: ['v1'],
  summary,
  querystring: noParameters,
  ...(params && { params: objectOf(params, ...Object.keys(params)) }),
  ...(body && { body }),
});

const tagsField = {
  type: 'array',
  items: tag,
  maxItems: limits.namespaceTagsMax,
  uniqueItems: true,
  description: `tags that nodes must have, each NAME or NAME=VALUE; at most ${limits.namespaceTagsMax}`,
};

const ofNamespace = { namespace: namespaceName };
const ofPartition = { namespace: namespaceName, partition: partitionNumber };
const ofNode = { node: nodeName };

interface PartitionParams {
  namespace: string;
  partition: number;
}

export function addV1Writes(write: AddWrite): void {
  addNamespaceWrites(write);
  addPartitionWrites(write);
  addNodeWrites(write);
  addControlWrites(write);
}

function addNamespaceWrites(write: AddWrite): void {
  const spec = objectOf(
    {
      name: namespaceName,
      partitions: partitionCount,
      replicas: replicaCount,
      hash,
      tags: tagsField,
      reads,
    },
    'name',
    'partitions',
    'replicas',
  );
  write<{ body: Omit<NamespaceSpec, 'hash'> & Partial<Pick<NamespaceSpec, 'hash'>> }>({
    method: 'POST',
    url: '/v1/namespaces',
    schema: schemaOf('makes a namespace', undefined, spec),
    run: (operator, { body }) => operator.createNamespace({ hash: 'slots', ...body }),
  });
  write<{ params: { namespace: string }; body: NamespaceChange }>({
    method: 'PATCH',
    url: '/v1/namespaces/:namespace',
    schema: schemaOf('changes what is named', ofNamespace, {
      ...objectOf({ replicas: replicaCount, tags: tagsField, reads }),
      minProperties: 1,
    }),
    run: (operator, { params, body }) => operator.updateNamespace(params.namespace, body),
  });
  write<{ params: { namespace: string } }>({
    method: 'DELETE',
    url: '/v1/namespaces/:namespace',
    schema: schemaOf('deletes a namespace and destroys its data', ofNamespace),
    run: (operator, { params }) => operator.deleteNamespace(params.namespace),
  });
}

function addPartitionWrites(write: AddWrite): void {
  const at = '/v1/namespaces/:namespace/partitions/:partition';
  write<{ params: PartitionParams; body: { from: string; to: string } }>({
    method: 'POST',
    url: `${at}/move`,
    schema: schemaOf(
      'moves a replica',
      ofPartition,
      objectOf({ from: nodeName, to: nodeName }, 'from', 'to'),
    ),
    run: (operator, { params, body }) => operator.move(params, body.from, body.to),
  });
  write<{ params: PartitionParams; body: { to: string } }>({
    method: 'POST',
    url: `${at}/transfer-leader`,
    schema: schemaOf(
      'the replica on that node should lead from now on',
      ofPartition,
      objectOf({ to: nodeName }, 'to'),
    ),
    run: (operator, { params, body }) => operator.transferLeader(params, body.to),
  });
  const confirmation = {
    type: 'string',
    description: 'the text lose-data-of NAMESPACE/PARTITION, which says what is given up',
  };
  write<{ params: PartitionParams; body: { survivor: string; confirmation: string } }>({
    method: 'POST',
    url: `${at}/rebuild`,
    schema: schemaOf(
      'a group that lost its quorum for ever is rebuilt from what one node holds; the rest is lost',
      ofPartition,
      objectOf({ survivor: nodeName, confirmation }, 'survivor', 'confirmation'),
    ),
    run: (operator, { params, body }) => operator.rebuild(params, body.survivor, body.confirmation),
  });
}

function addNodeWrites(write: AddWrite): void {
  write<{ params: { node: string } }>({
    method: 'POST',
    url: '/v1/nodes/:node/drain',
    schema: schemaOf('begins to empty a node', ofNode),
    run: (operator, { params }) => operator.drain(params.node),
  });
  write<{ params: { node: string } }>({
    method: 'DELETE',
    url: '/v1/nodes/:node/drain',
    schema: schemaOf('the node is emptied no more', ofNode),
    run: (operator, { params }) => operator.undrain(params.node),
  });
}

interface BalanceBody {
  enabled?: boolean;
  window?: { from: string; to: string } | null;
}

function addControlWrites(write: AddWrite): void {
  const time = {
    type: 'string',
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    description: 'a time of day as 22:00, UTC',
  };
  const window = {
    ...objectOf({ from: time, to: time }, 'from', 'to'),
    type: ['object', 'null'],
    description: '{"from": "22:00", "to": "06:00"} in UTC, or null: at any time',
  };
  write<{ body: BalanceBody }>({
    method: 'PUT',
    url: '/v1/control/balance',
    schema: schemaOf('whether and when replicas move only to be more even', undefined, {
      ...objectOf({ enabled: yesOrNo('whether they do'), window }),
      minProperties: 1,
    }),
    run: (operator, { body }) => operator.setBalance(balanceChange(body)),
  });
  write<{ body: { on: boolean } }>({
    method: 'PUT',
    url: '/v1/control/upgrade',
    schema: schemaOf(
      'while on, no replica moves',
      undefined,
      objectOf({ on: yesOrNo('whether nodes are being upgraded') }, 'on'),
    ),
    run: (operator, { body }) => operator.setUpgrade(body.on),
  });
  write<{ body: { count: number } }>({
    method: 'PUT',
    url: '/v1/control/stable-nodes',
    schema: schemaOf(
      'lowers the stable node count; it grows by itself',
      undefined,
      objectOf({ count: nodeCount }, 'count'),
    ),
    called: { number: 'count' },
    run: (operator, { body }) => operator.lowerStableNodes(body.count),
  });
}

function balanceChange({ enabled, window }: BalanceBody): BalanceChange {
  return {
    ...(enabled !== undefined && { enabled }),
    ...(window !== undefined && {
      window: window && {
        fromMinute: minuteOfDay(window.from),
        toMinute: minuteOfDay(window.to),
      },
    }),
  };
}
