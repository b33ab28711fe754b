/** Valid metadata records of every kind, each with the key it lies at. */
import fc from 'fast-check';
import { initialSlotRange } from '../../src/common/hash.ts';
import { type RecordKind, recordKinds } from '../../src/meta/records.ts';
import type { Json } from './json-mutations.ts';

export interface StoredRecord {
  readonly kind: RecordKind<unknown>;
  readonly key: string;
  readonly record: { readonly [field: string]: Json };
}

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const id = fc.integer({ min: 1, max: 2 ** 40 });
const port = fc.nat(65_535);
const incarnation = fc.stringMatching(/^[0-9a-f]{16}$/);
const replica = fc.record({ replica: id, node: name, incarnation });
const replicas = fc.uniqueArray(replica, {
  minLength: 1,
  maxLength: 7,
  selector: (member) => member.replica,
});
const base = { version: fc.constant(1) };

const place = fc.tuple(fc.nat(15), fc.integer({ min: 16, max: 64 }));

const shapes = {
  cluster: fc.record({ ...base, clusterId: incarnation, createdMs: fc.nat() }),
  counters: fc.record({ ...base, nextGroup: id, nextReplica: id }),
  node: fc.record({
    ...base,
    node: name,
    incarnation,
    bootId: incarnation,
    host: fc.oneof(fc.domain(), fc.ipV4()),
    transportPort: port,
    gatewayPort: port,
    clusterPort: port,
    httpPort: port,
    tags: fc.dictionary(name, fc.string()),
  }),
  incarnation: fc.record({ ...base, node: name, incarnation }),
  namespace: fc.record({
    ...base,
    name,
    kind: fc.constant('redis'),
    hash: fc.constant('slots'),
    partitions: fc.integer({ min: 1, max: 1_024 }),
    replicas: fc.integer({ min: 1, max: 7 }),
    expiry: fc.constant('consistent'),
    ready: fc.boolean(),
  }),
  partition: fc
    .tuple(fc.record({ namespace: name, group: id, epoch: id, fence: id }), place, replicas)
    .map(([fields, [partition, count], members]) => {
      const [firstSlot, lastSlot] = initialSlotRange(partition, count);
      const born = members.slice(0, 3);
      return {
        version: 1,
        ...fields,
        partition,
        firstSlot,
        lastSlot,
        birth: born,
        replicas: members,
      };
    }),
  leader: fc.record({
    ...base,
    namespace: name,
    partition: fc.nat(1_023),
    node: name,
    replica: id,
    term: fc.nat(),
    membership: fc.record({
      epoch: id,
      voters: fc.array(id, { maxLength: 7 }),
      learners: fc.array(id, { maxLength: 7 }),
      joint: fc.boolean(),
    }),
  }),
  damage: fc.record({
    ...base,
    namespace: name,
    partition: fc.nat(1_023),
    replica: id,
    node: name,
    incarnation,
    reason: fc.string({ unit: 'binary' }),
  }),
  user: fc.record({
    ...base,
    user: fc.stringMatching(/^[!-~]{1,40}$/),
    rules: fc.constantFrom('off resetchannels -@all', 'on nopass ~* &* +@all', 'nonsense'),
  }),
  setting: fc.record({ ...base, name, value: fc.string() }),
} as const;

const arbitraries = Object.entries(shapes).map(([kindName, shape]) => {
  const kind = recordKinds[kindName as keyof typeof recordKinds] as RecordKind<unknown>;
  return (shape as fc.Arbitrary<StoredRecord['record']>).map((record) => {
    return { kind, key: kind.keyOf(record), record };
  });
});

export const storedRecord: fc.Arbitrary<StoredRecord> = fc.oneof(...arbitraries);
