/**
 * Metadata records as they are read: somebody else wrote them, so the whole shape is checked before
 * a record counts. What a reader does not know is let through, and kept when the record is written
 * again: a newer build may have added it without a new version.
 */
import { z } from 'zod';
import { KvorumError } from '../common/errors.ts';
import { SLOT_COUNT } from '../common/hash.ts';
import { limits } from '../common/limits.ts';
import {
  type BannedRecord,
  type ClusterRecord,
  type ControlRecord,
  type CountersRecord,
  type DamageRecord,
  type DeletedRecord,
  type IncarnationRecord,
  keys,
  type LeaderRecord,
  type LoadRecord,
  type NamespaceRecord,
  type NodeRecord,
  type NodeStateRecord,
  type PartitionRecord,
  type PlacedriverRecord,
  SCHEMA_VERSION,
  type SettingRecord,
  type UserRecord,
} from './schema.ts';

export interface RecordKind<T> {
  readonly schema: z.ZodType<T>;
  /** Where such a record lies: one that lies elsewhere speaks for another. */
  keyOf(record: T): string;
  /** What an operator does about one that cannot be read. */
  readonly remedy: string;
}

const RESTORE = 'restore it from a backup of the metadata store';
const REGISTER = 'remove the key, then restart the datanode: it registers anew';

const version = z.int().min(1);
const text = z.string().min(1);
const count = z.int().min(1);
const index = z.int().min(0);
const httpTls = z.enum(['optional', 'required']);
const port = z.int().min(0).max(65_535);
const minuteOfDay = z.int().min(0).max(1_439);
const slot = z
  .int()
  .min(0)
  .max(SLOT_COUNT - 1);

/** The length is checked first: not every wrong item of a long list becomes a problem. */
function list<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).max(limits.metaReplicasMax).pipe(z.array(item));
}

const replica = z.object({ replica: count, node: text, incarnation: text });
const replicas = list(replica).refine(
  (members) => new Set(members.map((member) => member.replica)).size === members.length,
  'names a replica twice',
);
const replicaIds = list(count);
const rebuilt = z.object({
  epoch: count,
  formerGroups: z.array(count).min(1).max(limits.metaRebuildsMax),
  lost: replicas,
});

const move = z.object({
  from: replica.exactOptional(),
  to: replica.exactOptional(),
  gaveUp: replica.exactOptional(),
  why: z.string(),
  sinceMs: z.number(),
});

const membership = z.object({
  epoch: index,
  voters: replicaIds,
  learners: replicaIds,
  joint: z.boolean(),
});

export const recordKinds = {
  cluster: kind<ClusterRecord>({
    schema: z.object({ version, clusterId: text, createdMs: z.number() }),
    keyOf: () => keys.cluster,
    remedy: RESTORE,
  }),
  counters: kind<CountersRecord>({
    schema: z.object({ version, nextGroup: count, nextReplica: count }),
    keyOf: () => keys.counters,
    remedy: RESTORE,
  }),
  node: kind<NodeRecord>({
    schema: z.object({
      version,
      node: text,
      incarnation: text,
      bootId: text,
      host: text,
      transportPort: port,
      gatewayPort: port,
      clusterPort: port,
      followerPort: port.exactOptional(),
      httpPort: port,
      httpTls: httpTls.exactOptional(),
      zanPort: port.exactOptional(),
      announce: z
        .object({
          host: text.exactOptional(),
          gatewayPort: port.exactOptional(),
          clusterPort: port.exactOptional(),
          followerPort: port.exactOptional(),
        })
        .exactOptional(),
      tags: z.record(z.string(), z.string()),
      capacity: count.exactOptional(),
      build: text.exactOptional(),
      applyVersion: count.exactOptional(),
    }),
    keyOf: (record) => keys.node(record.node),
    remedy: REGISTER,
  }),
  load: kind<LoadRecord>({
    schema: z.object({
      version,
      node: text,
      replicas: index,
      leaders: index,
      keys: index,
      diskBytes: index,
      memoryBytes: index,
      stopped: z.array(count).max(limits.metaStoppedMax).exactOptional(),
    }),
    keyOf: (record) => keys.load(record.node),
    remedy: 'remove the key: the datanode writes it again',
  }),
  nodeState: kind<NodeStateRecord>({
    schema: z.object({
      version,
      node: text,
      firstSeenMs: z.number(),
      lostSinceMs: z.number().exactOptional(),
      writtenOff: z.boolean().exactOptional(),
      draining: z.object({ sinceMs: z.number(), replicas: index }).exactOptional(),
    }),
    keyOf: (record) => keys.nodeState(record.node),
    remedy: 'remove the key: the master writes it again; a draining node is to be drained anew',
  }),
  control: kind<ControlRecord>({
    schema: z.object({
      version,
      stableNodes: index,
      upgradeSinceMs: z.number().exactOptional(),
      balance: z.object({
        enabled: z.boolean(),
        window: z.object({ fromMinute: minuteOfDay, toMinute: minuteOfDay }).exactOptional(),
      }),
    }),
    keyOf: () => keys.control,
    remedy: 'remove the key: upgrade mode, switch and window of balancing are to be set anew',
  }),
  placedriver: kind<PlacedriverRecord>({
    schema: z.object({
      version,
      name: text,
      host: text,
      httpPort: port,
      httpTls: httpTls.exactOptional(),
      build: text,
    }),
    keyOf: (record) => keys.placedriver(record.name),
    remedy: 'remove the key, then restart the placedriver: it registers anew',
  }),
  banned: kind<BannedRecord>({
    schema: z.object({ version, name: text, sinceMs: z.number() }),
    keyOf: (record) => keys.ban(record.name),
    remedy: 'remove the key, then ban the placedriver anew',
  }),
  deleted: kind<DeletedRecord>({
    schema: z.object({
      version,
      namespace: text,
      firstGroup: count,
      groups: count,
      deletedMs: z.number(),
    }),
    keyOf: (record) => keys.deletion(record.firstGroup),
    remedy: RESTORE,
  }),
  incarnation: kind<IncarnationRecord>({
    schema: z.object({ version, node: text, incarnation: text, life: count.exactOptional() }),
    keyOf: (record) => keys.incarnation(record.node),
    remedy: REGISTER,
  }),
  namespace: kind<NamespaceRecord>({
    schema: z.object({
      version,
      name: text,
      kind: z.literal('redis'),
      hash: z.enum(['slots', 'murmur3']),
      partitions: count.max(SLOT_COUNT),
      replicas: count.max(limits.metaReplicasMax),
      expiry: z.literal('consistent'),
      tags: list(text).exactOptional(),
      reads: z.enum(['linearizable', 'lease']).exactOptional(),
      ready: z.boolean(),
      deleting: z.boolean().exactOptional(),
    }),
    keyOf: (record) => keys.namespace(record.name),
    remedy: RESTORE,
  }),
  partition: kind<PartitionRecord>({
    schema: z
      .object({
        version,
        namespace: text,
        partition: index.max(SLOT_COUNT - 1),
        group: count,
        firstSlot: slot,
        lastSlot: slot,
        murmur3: z.object({ modulo: count.max(SLOT_COUNT), remainder: index }).exactOptional(),
        birth: replicas,
        replicas,
        move: move.exactOptional(),
        epoch: count,
        fence: index,
        rebuilt: rebuilt.exactOptional(),
      })
      .refine(({ firstSlot, lastSlot }) => firstSlot <= lastSlot, {
        path: ['lastSlot'],
        message: 'lies before firstSlot',
      })
      .refine(
        ({ partition, murmur3 }) =>
          murmur3 === undefined ||
          (murmur3.remainder === partition && murmur3.remainder < murmur3.modulo),
        { path: ['murmur3'], message: 'is the share of another partition' },
      ),
    keyOf: (record) => keys.partition(record.namespace, record.partition),
    remedy: RESTORE,
  }),
  leader: kind<LeaderRecord>({
    schema: z.object({
      version,
      namespace: text,
      partition: index.max(SLOT_COUNT - 1),
      group: count.exactOptional(),
      node: text,
      replica: count,
      term: index,
      membership,
      catchingUp: list(
        z.object({
          ...{ replica: count, match: index, last: index },
          snapshot: z.number().min(0).max(1).exactOptional(),
        }),
      ).exactOptional(),
      resigned: z.literal(true).exactOptional(),
    }),
    keyOf: (record) => keys.leader(record.namespace, record.partition),
    remedy: 'remove the key: the next leader writes it again',
  }),
  user: kind<UserRecord>({
    schema: z.object({
      version,
      user: text.max(limits.aclNameMax).regex(/^[\x21-\x7e]+$/),
      rules: text.max(limits.aclRulesMax),
    }),
    keyOf: (record) => keys.user(record.user),
    remedy: 'remove the key, then make the user anew with ACL SETUSER',
  }),
  damage: kind<DamageRecord>({
    schema: z.object({
      version,
      namespace: text,
      partition: index.max(SLOT_COUNT - 1),
      replica: count,
      node: text,
      incarnation: text,
      reason: z.string(),
    }),
    keyOf: (record) => keys.damage(record.replica),
    remedy: 'remove the key, then restart the datanode: it reports its damage again',
  }),
  setting: kind<SettingRecord>({
    schema: z.object({ version, name: text, value: z.string() }),
    keyOf: (record) => keys.setting(record.name),
    remedy: 'remove the key, then set it again with CONFIG SET',
  }),
} as const;

function kind<T>(of: RecordKind<T>): RecordKind<T> {
  return of;
}

const PROBLEMS_SHOWN = 3;
const PROBLEM_CHARACTERS_MAX = 200;
const NESTING_MAX = 32;

/** Parses a record; throws BAD_RECORD with key, field, what is wrong there and what to do. */
export function decodeRecord<T>(
  { schema, keyOf, remedy }: RecordKind<T>,
  key: string,
  value: string,
): T {
  const bad = (what: string, then = remedy) =>
    new KvorumError('BAD_RECORD', `metadata ${key}: ${what}; ${then}`);
  if (value.length > limits.metaValueBytesMax) {
    throw bad(`${value.length} characters, more than ${limits.metaValueBytesMax}`);
  }
  if (isNestedTooDeep(value)) throw bad(`nested deeper than ${NESTING_MAX}`);
  let record: unknown;
  try {
    record = JSON.parse(value);
  } catch {
    throw bad('not JSON');
  }
  const found = versionOf(record);
  if (typeof found !== 'number') throw bad('has no version');
  if (found > SCHEMA_VERSION) {
    throw bad(`version ${found}, this build reads ${SCHEMA_VERSION}`, 'upgrade kvorum');
  }
  const checked = schema.safeParse(record);
  if (!checked.success) throw bad(problemsOf(checked.error));
  const place = keyOf(checked.data);
  if (place !== key) throw bad(`holds the record of ${place.slice(0, PROBLEM_CHARACTERS_MAX)}`);
  // The record itself, not zod's copy: with what a newer build added, in the order it was written.
  return record as T;
}

function versionOf(record: unknown): unknown {
  return typeof record === 'object' && record !== null && 'version' in record
    ? record.version
    : undefined;
}

function problemsOf(error: z.ZodError): string {
  const { issues } = error;
  const shown = issues.slice(0, PROBLEMS_SHOWN).map((issue) => {
    const field = issue.path.join('.') || 'the record';
    return `${field}: ${issue.message}`.slice(0, PROBLEM_CHARACTERS_MAX);
  });
  const more = issues.length - shown.length;
  return shown.join(', ') + (more > 0 ? `, and ${more} more` : '');
}

/** Looked at before it is parsed: what JSON.parse reads at any depth, JSON.stringify cannot write. */
function isNestedTooDeep(value: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < value.length; at++) {
    const character = value[at];
    if (quoted && character === '\\') at++;
    else if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    if (depth > NESTING_MAX) return true;
  }
  return false;
}
