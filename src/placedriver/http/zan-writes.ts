/**
 * What ZanRedisDB's placedriver is asked to do, by the same routes; parameters are in the query.
 * Those that ask for what kvorum does anyway are taken; those that it could only pretend to follow
 * are refused.
 */
import { KvorumError } from '../../common/errors.ts';
import type { NamespaceChange } from '../operator/operator.ts';
import {
  hash,
  namespaceName,
  nodeCount,
  nodeName,
  noParameters,
  objectOf,
  oneOf,
  partitionCount,
  partitionNumber,
  reads,
  replicaCount,
  yesOrNo,
} from './schemas.ts';
import type { AddWrite } from './writes.ts';

const tags = ['ZanRedisDB'];

const tagList = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.=:/-]+(,[A-Za-z0-9_.=:/-]+)*$',
  description: 'tags that nodes must have, separated by commas: NAME or NAME=VALUE',
};

/** Taken, and without effect: durability is never less than what they may ask for. */
const fsync = yesOrNo('taken; kvorum syncs every write, whatever it says');

interface Create {
  query: {
    namespace: string;
    partition_num: number;
    replicator: number;
    tags?: string;
    hash?: 'slots' | 'murmur3';
    reads?: 'linearizable' | 'lease';
  };
}

const createParameters = objectOf(
  {
    namespace: namespaceName,
    partition_num: partitionCount,
    replicator: replicaCount,
    engtype: oneOf(['rockredis', 'leveldb'], 'the engine; both mean the one there is'),
    data_version: oneOf(['value_header_v1', 'default'], 'both mean the one format there is'),
    expiration_policy: oneOf(
      ['wait_compact', 'consistency_deletion', 'consistent'],
      'all mean that expiry is the same on every replica; local_deletion does not exist here',
    ),
    tags: tagList,
    optimizedfsync: fsync,
    hash,
    reads,
  },
  'namespace',
  'partition_num',
  'replicator',
);

interface Update {
  query: { namespace: string; replicator?: number; tags?: string; reads?: Reads };
}
type Reads = 'linearizable' | 'lease';

const updateParameters = objectOf(
  {
    namespace: namespaceName,
    replicator: replicaCount,
    optimizefsync: fsync,
    tags: tagList,
    reads,
  },
  'namespace',
);

export function addZanWrites(write: AddWrite): void {
  addNamespaceWrites(write);
  addNodeWrites(write);
  addControlWrites(write);
}

function addNamespaceWrites(write: AddWrite): void {
  write<Create>({
    method: 'POST',
    url: '/cluster/namespace/create',
    schema: { tags, summary: 'makes a namespace', querystring: createParameters },
    run: (operator, { query }) =>
      operator.createNamespace({
        name: query.namespace,
        partitions: query.partition_num,
        replicas: query.replicator,
        hash: query.hash ?? 'slots',
        ...(query.tags !== undefined && { tags: query.tags.split(',') }),
        ...(query.reads !== undefined && { reads: query.reads }),
      }),
  });
  write<{ query: { namespace: string } }>({
    method: 'DELETE',
    url: '/cluster/namespace/delete',
    schema: {
      tags,
      summary: 'deletes a namespace and destroys its data',
      querystring: objectOf(
        { namespace: namespaceName, partition: oneOf(['**'], 'only all go together') },
        'namespace',
      ),
    },
    run: (operator, { query }) => operator.deleteNamespace(query.namespace),
  });
  write<Update>({
    method: 'POST',
    url: '/cluster/namespace/meta/update',
    schema: { tags, summary: 'changes a namespace', querystring: updateParameters },
    run: async (operator, { query }) => {
      const { namespace, replicator, tags: wanted, reads: mode } = query;
      const change: NamespaceChange = {
        ...(replicator !== undefined && { replicas: replicator }),
        ...(wanted !== undefined && { tags: wanted.split(',') }),
        ...(mode !== undefined && { reads: mode }),
      };
      if (Object.keys(change).length > 0) return operator.updateNamespace(namespace, change);
      throw new KvorumError('BAD_ARGUMENT', 'nothing to change: name replicator, tags or reads');
    },
  });
}

function addNodeWrites(write: AddWrite): void {
  write<{ query: { remove_node: string } }>({
    method: 'POST',
    url: '/cluster/node/remove',
    schema: {
      tags,
      summary: 'begins to empty a node (DELETE /v1/nodes/:node/drain takes it back)',
      querystring: objectOf({ remove_node: nodeName }, 'remove_node'),
    },
    called: { node: 'remove_node' },
    run: (operator, { query }) => operator.drain(query.remove_node),
  });
  write<{ query: { namespace: string; partition: number; node: string } }>({
    method: 'DELETE',
    url: '/cluster/partition/remove_node',
    schema: {
      tags,
      summary: 'gives up a replica; another is made in its place',
      querystring: objectOf(
        { namespace: namespaceName, partition: partitionNumber, node: nodeName },
        'namespace',
        'partition',
        'node',
      ),
    },
    run: (operator, { query: { node, ...what } }) => operator.removeReplica(what, node),
  });
  write<{ query: { node: string; restore?: boolean } }>({
    method: 'POST',
    url: '/cluster/pd/tombstone',
    schema: {
      tags,
      summary: 'keeps a placedriver from mastership, or lets it again',
      querystring: objectOf(
        { node: nodeName, restore: yesOrNo('true: it may be master again') },
        'node',
      ),
    },
    run: (operator, { query }) => operator.banPlacedriver(query.node, query.restore !== true),
  });
}

function addControlWrites(write: AddWrite): void {
  write<{ query: { enable: boolean } }>({
    method: 'POST',
    url: '/cluster/balance',
    schema: {
      tags,
      summary: 'whether replicas move only to be more even',
      querystring: objectOf({ enable: yesOrNo('whether they do') }, 'enable'),
    },
    run: (operator, { query }) => operator.setBalance({ enabled: query.enable }),
  });
  for (const [url, on] of [
    ['/cluster/upgrade/begin', true],
    ['/cluster/upgrade/done', false],
  ] as const) {
    write({
      method: 'POST',
      url,
      schema: {
        tags,
        summary: on ? 'from now on no replica moves' : 'replicas may move again',
        querystring: noParameters,
      },
      run: (operator) => operator.setUpgrade(on),
    });
  }
  write<{ query: { number: number } }>({
    method: 'POST',
    url: '/stable/nodenum',
    schema: {
      tags,
      summary: 'lowers the stable node count; it grows by itself',
      querystring: objectOf({ number: nodeCount }, 'number'),
    },
    run: (operator, { query }) => operator.lowerStableNodes(query.number),
  });
}
