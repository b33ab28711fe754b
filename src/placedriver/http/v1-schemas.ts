/** What /v1 answers. */
import { moveKinds } from '../balance/view.ts';
import {
  byName,
  flagField,
  listOf,
  numberField,
  numberOrNull,
  textField,
  textOrNull,
  told,
} from './schemas.ts';

const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });

const windowAnswer = orNull(told({ from: textField, to: textField }, 'HH:MM, UTC'));

export const clusterAnswer = told({
  clusterId: textOrNull,
  version: textField,
  placedriver: textField,
  master: textOrNull,
  placedrivers: listOf(
    told({
      name: textField,
      host: textField,
      httpPort: numberField,
      build: textField,
      master: flagField,
      banned: flagField,
    }),
  ),
  revision: numberField,
  staleMs: { ...numberOrNull, description: 'for how long the store has been out of reach' },
  stability: told({
    frozen: { ...textOrNull, description: 'why no replica moves at all' },
    unbalanced: { ...textOrNull, description: 'why none moves only to be more even' },
  }),
  nodes: told({ alive: numberField, stable: numberField, draining: numberField }),
  partitions: told({ total: numberField, led: numberField, settled: numberField }),
  balance: told({ enabled: flagField, window: windowAnswer }),
  upgrade: told({ on: flagField, sinceMs: numberOrNull }),
});

const drain = told({
  sinceMs: numberField,
  replicas: numberField,
  left: numberField,
  progress: { ...numberField, description: '0 to 1' },
  etaMs: numberOrNull,
  waitsFor: { ...textOrNull, description: 'which groups cannot do without the node yet, and why' },
});

const clientAddress = {
  type: 'object',
  properties: {
    host: textField,
    gatewayPort: numberField,
    clusterPort: numberField,
    followerPort: { ...numberField, description: 'absent: a build that has no such port' },
  },
  required: ['host', 'gatewayPort', 'clusterPort'],
  additionalProperties: false,
};

const address = {
  ...clientAddress,
  properties: {
    ...clientAddress.properties,
    httpPort: numberField,
    transportPort: numberField,
    announced: { ...clientAddress, description: 'where clients are told to go, when elsewhere' },
  },
  required: [...clientAddress.required, 'httpPort', 'transportPort'],
};

export const nodeSchema = {
  type: 'object',
  properties: {
    name: textField,
    alive: flagField,
    lostSinceMs: numberOrNull,
    address,
    incarnation: textOrNull,
    build: textOrNull,
    tags: byName(textField),
    capacity: numberOrNull,
    replicas: numberField,
    leaders: numberField,
    stopped: { ...numberField, description: 'of its replicas, those that stopped after a fault' },
    load: told({ keys: numberField, diskBytes: numberField, memoryBytes: numberField }),
    draining: orNull(drain),
  },
  required: ['name', 'alive', 'lostSinceMs', 'replicas', 'leaders', 'stopped', 'draining'],
  additionalProperties: false,
};

export const namespaceSchema = told({
  name: textField,
  state: { type: 'string', enum: ['creating', 'ready', 'deleting'] },
  partitions: numberField,
  replicas: numberField,
  hash: textField,
  reads: textField,
  tags: listOf(textField),
  led: numberField,
  settled: numberField,
});

export const partitionSchema = told({
  namespace: textField,
  partition: numberField,
  group: numberField,
  slots: listOf(numberField),
  epoch: numberField,
  wanted: listOf(told({ replica: numberField, node: textField, incarnation: textField })),
  leader: orNull(told({ node: textField, replica: numberField, term: numberField })),
  actual: orNull(
    told({
      epoch: numberField,
      voters: listOf(numberField),
      learners: listOf(numberField),
      joint: flagField,
    }),
  ),
  settled: flagField,
  stopped: {
    ...listOf(told({ node: textField, replica: numberField })),
    description: 'replicas that stopped after a fault: /readyz and the log of the node say why',
  },
});

export const operationSchema = told({
  kind: { type: 'string', enum: ['move', 'drain', 'creation', 'deletion'] },
  namespace: textOrNull,
  partition: numberOrNull,
  node: textOrNull,
  from: textOrNull,
  to: textOrNull,
  phase: textField,
  why: textOrNull,
  sinceMs: numberOrNull,
  progress: { ...numberOrNull, description: '0 to 1; null: not known' },
  etaMs: { ...numberOrNull, description: 'null: not known' },
});

export const plannedSchema = told({
  frozen: textOrNull,
  unbalanced: textOrNull,
  moves: listOf(
    told({
      namespace: textField,
      partition: numberField,
      from: textOrNull,
      to: textOrNull,
      kind: { type: 'string', enum: [...moveKinds] },
      why: textField,
      waitsFor: { ...textOrNull, description: 'why it does not begin now; null: it is its turn' },
    }),
  ),
});

export const eventsSchema = told({
  revision: { ...numberField, description: 'the `since` of the next request' },
  completeSince: { ...numberField, description: 'events before it may be missing' },
  events: listOf({
    type: 'object',
    properties: {
      revision: numberField,
      atMs: numberField,
      type: textField,
      node: textField,
      namespace: textField,
      partition: numberField,
      from: textOrNull,
      to: textOrNull,
      why: textField,
    },
    required: ['revision', 'atMs', 'type'],
    additionalProperties: false,
  }),
});
