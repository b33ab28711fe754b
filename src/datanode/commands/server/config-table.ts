/**
 * Every parameter of CONFIG: those that are real settings of this node, with their bounds, and those
 * that only answer what tools of Redis ask, with the value that is true of kvorum.
 */
import { limits } from '../../../common/limits.ts';
import { BAD_NOTIFY_FLAGS, NOTIFY_SETTING, parseNotifyFlags } from '../pubsub/notify-flags.ts';
import { isClusterDoor, type Session } from '../rows/node-context.ts';

/** A number that CONFIG SET changes in this process; the configuration file is what lasts. */
interface SettingRow {
  readonly kind: 'setting';
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** Of every node of the cluster, and kept in the metadata store. */
interface ClusterRow {
  readonly kind: 'cluster';
  readonly name: string;
  /** What is wrong with a text; undefined: it can be set. */
  problemOf(text: string): string | undefined;
}

/** Shown, and decided elsewhere: by the configuration file, or by what kvorum is. */
interface ShownRow {
  readonly kind: 'shown';
  readonly name: string;
  /** Undefined: the node knows. */
  readonly value: string | ((session: Session) => string) | undefined;
}

/** Set for the whole cluster and stored only as a hash, so it is never shown. */
interface SecretRow {
  readonly kind: 'secret';
  readonly name: string;
}

export type ConfigRow = SettingRow | ClusterRow | ShownRow | SecretRow;

const setting = (name: string, min: number, max: number): SettingRow => ({
  kind: 'setting',
  name,
  min,
  max,
});

const shown = (name: string, value?: ShownRow['value']): ShownRow => ({
  kind: 'shown',
  name,
  value,
});

/** What INFO latencystats tells of each command: Redis's defaults. */
export const LATENCY_PERCENTILES = [50, 99, 99.9];

const settings: readonly SettingRow[] = [
  setting('maxclients', 1, 1_000_000),
  setting('hold-ms', 0, 60_000),
  setting('slowlog-log-slower-than', -1, Number.MAX_SAFE_INTEGER),
  setting('slowlog-max-len', 0, limits.slowLogEntriesMax),
  setting('latency-monitor-threshold', 0, Number.MAX_SAFE_INTEGER),
  setting('acllog-max-len', 0, limits.aclLogEntriesMax),
  setting('tracking-table-max-keys', 0, Number.MAX_SAFE_INTEGER),
];

/** Events are published wherever partitions are led. */
const notifyRow: ClusterRow = {
  kind: 'cluster',
  name: NOTIFY_SETTING,
  problemOf: (text) => (parseNotifyFlags(text) === undefined ? BAD_NOTIFY_FLAGS : undefined),
};

const isCluster = (session: Session) => (isClusterDoor(session) ? 'yes' : 'no');

/** Sizes at which Redis changes a collection's encoding; `…-ziplist-…` are their older names. */
const encodings: readonly (readonly [name: string, value: number])[] = [
  ['hash-max-listpack-entries', 512],
  ['hash-max-listpack-value', 64],
  ['hash-max-ziplist-entries', 512],
  ['hash-max-ziplist-value', 64],
  ['hll-sparse-max-bytes', 3_000],
  ['list-compress-depth', 0],
  ['list-max-listpack-size', -2],
  ['list-max-ziplist-size', -2],
  ['set-max-intset-entries', 512],
  ['set-max-listpack-entries', 128],
  ['set-max-listpack-value', 64],
  ['zset-max-listpack-entries', 128],
  ['zset-max-listpack-value', 64],
  ['zset-max-ziplist-entries', 128],
  ['zset-max-ziplist-value', 64],
];

/** As Redis prints them: class, hard limit, soft limit and its seconds. */
function outputLimits(): string {
  const { connectionOutputBytesMax: all } = limits;
  const { subscriberOutputBytesMax: hard, subscriberOutputSoftBytes: soft } = limits;
  const seconds = limits.subscriberOutputSoftMs / 1_000;
  return `normal ${all} 0 0 slave 0 0 0 pubsub ${hard} ${soft} ${seconds}`;
}

const facts: readonly ShownRow[] = [
  shown('port'),
  shown('value-bytes-max'),
  shown('cluster-enabled', isCluster),
  // what a new user may hear of: nothing
  shown('acl-pubsub-default', 'resetchannels'),
  shown('activedefrag', 'no'),
  shown('appendfsync', 'always'),
  shown('appendonly', 'yes'),
  shown('client-output-buffer-limit', outputLimits()),
  shown('client-query-buffer-limit', String(limits.connectionInFlightBytesMax)),
  shown('databases', '1'),
  shown('io-threads', '1'),
  shown('latency-tracking', 'yes'),
  shown('latency-tracking-info-percentiles', LATENCY_PERCENTILES.join(' ')),
  shown('lazyfree-lazy-expire', 'yes'),
  shown('lazyfree-lazy-server-del', 'yes'),
  shown('lazyfree-lazy-user-del', 'yes'),
  shown('lazyfree-lazy-user-flush', 'yes'),
  shown('maxmemory', '0'),
  shown('maxmemory-clients'),
  shown('maxmemory-policy', 'noeviction'),
  shown('min-replicas-to-write', '0'),
  // no longer bulk is taken, because its request would be too large
  shown('proto-max-bulk-len', String(limits.requestBytesMax)),
  shown('protected-mode', 'no'),
  shown('reply-bytes-max'),
  shown('save', ''),
  shown('tcp-keepalive', String(limits.tcpKeepAliveMs / 1_000)),
  shown('timeout', '0'),
  shown('tls-auth-clients'),
  shown('tls-auth-clients-user'),
  shown('tls-ca-cert-file'),
  shown('tls-cert-file'),
  shown('tls-key-file'),
  shown('tls-port'),
  shown('tls-protocols', 'TLSv1.2 TLSv1.3'),
  ...encodings.map(([name, value]) => shown(name, String(value))),
];

/** By name, in the order of names. */
export const configTable: ReadonlyMap<string, ConfigRow> = new Map(
  [...settings, notifyRow, ...facts, { kind: 'secret', name: 'requirepass' } as const]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((row) => [row.name, row] as const),
);

/** Of files of Redis, for which kvorum has others: never set, as in Redis unless it is told so. */
export const protectedNames: ReadonlySet<string> = new Set(['dbfilename', 'dir']);

/** The number, or Redis's text of what is wrong with it. */
export function parseSetting({ min, max }: SettingRow, text: string): number | string {
  if (!/^-?\d{1,19}$/.test(text)) return "argument couldn't be parsed into an integer";
  const value = Number(text);
  if (value < min || value > max) return `argument must be between ${min} and ${max} inclusive`;
  return value;
}
