/** The datanode's configuration: one schema is type, check and error text. */
import { z } from 'zod';
import {
  hostField,
  logField,
  nameField,
  portField,
  runFileField,
  samePorts,
  toldHostField,
} from '../common/config-fields.ts';
import { metaAccessFields } from '../common/config-meta.ts';
import { limits } from '../common/limits.ts';
import { datanodeTlsField } from '../common/tls/config.ts';

/** Faster than any network here: more is a mistyped number. */
const SNAPSHOT_BYTES_PER_SECOND_MAX = 10 * 1024 ** 3;
/** LevelDB is told in 32 bits. */
const ENGINE_CACHE_BYTES_MAX = 4 * 1024 * 1024 * 1024 - 1;
/** A day: more is a mistyped number. */
const PERIOD_MS_MAX = 86_400_000;

const announcedPort = portField.min(1);

const fields = z.strictObject({
  /** Unique in the cluster; stays with the data directory. */
  name: nameField,
  'data-dir': z.string().min(1),
  /** Address that clients and peers are told. */
  host: toldHostField.default('127.0.0.1'),
  /** Address to listen on; the announced one when absent. */
  listen: hostField.optional(),
  /** Where clients are told to connect, when it is not where the doors listen (NAT, containers). */
  announce: z
    .strictObject({
      host: toldHostField.optional(),
      /** Of the cluster port. */
      port: announcedPort.optional(),
      'gateway-port': announcedPort.optional(),
      'follower-port': announcedPort.optional(),
    })
    .prefault({}),
  ports: z
    .strictObject({
      gateway: portField.default(6379),
      cluster: portField.default(7001),
      follower: portField.default(8001),
      transport: portField.default(17_001),
      http: portField.default(27_001),
    })
    .refine((ports) => samePorts(ports) === undefined, {
      error: ({ input }) =>
        `${samePorts(input as Record<string, number>)?.join(' and ')} are the same`,
    })
    .prefault({}),
  /** A port for ZanRedisDB's clients, with their keys and commands; none when absent. */
  zan: z.strictObject({ port: portField }).optional(),
  meta: z.strictObject(metaAccessFields),
  /** Encrypted connections, and who shows a certificate on them; plain ones when absent. */
  tls: datanodeTlsField,
  /** `dc_info` and `host` are failure domains in placement. */
  tags: z.record(z.string(), z.string()).default({}),
  /** Replicas it is to hold at most; the placedriver knows no bound when absent. */
  capacity: z.number().int().min(1).max(1_000_000).optional(),
  'run-file': runFileField,
  log: logField,
  limits: z
    .strictObject({
      maxclients: z.number().int().min(1).max(1_000_000).default(10_000),
      'value-bytes-max': z
        .number()
        .int()
        .min(1)
        .max(32 * 1024 * 1024)
        .default(16 * 1024 * 1024),
      /** What one read may answer; every node can make replies of up to the default. */
      'reply-bytes-max': z
        .number()
        .int()
        .min(64 * 1024)
        .max(limits.replyBytesMax)
        .default(limits.replyBytesMax),
      'engine-cache-bytes': z
        .number()
        .int()
        .min(1024 * 1024)
        .max(ENGINE_CACHE_BYTES_MAX)
        .default(96 * 1024 * 1024),
      /** What all snapshots together may send, so that clients are served meanwhile. */
      'snapshot-bytes-per-second': z
        .number()
        .int()
        .min(64 * 1024)
        .max(SNAPSHOT_BYTES_PER_SECOND_MAX)
        .default(limits.snapshotBytesPerSecond),
    })
    .prefault({}),
  /** Times of the protocol; the defaults suit a LAN. */
  timing: z
    .strictObject({
      'tick-ms': z.number().int().min(5).max(5_000).default(100),
      'election-ticks': z.number().int().min(3).max(100).default(10),
      'heartbeat-ticks': z.number().int().min(1).max(10).default(2),
      'lease-ttl-ms': z.number().int().min(1_000).max(600_000).default(10_000),
      'max-clock-skew-ms': z.number().int().min(0).max(PERIOD_MS_MAX).default(500),
      /**
       * How much slower than another node's this one's monotone clock may run: where reads are
       * served under leases, theirs are shorter by so much.
       */
      'max-clock-drift-percent': z.number().int().min(1).max(50).default(10),
      'engine-sync-interval-ms': z.number().int().min(1).max(PERIOD_MS_MAX).default(250),
      /** How old the state may be from which the follower-read port answers. */
      'replica-max-staleness-ms': z.number().int().min(100).max(PERIOD_MS_MAX).default(10_000),
      'hold-ms': z.number().int().min(0).max(60_000).default(5_000),
      /** Between two looks at what this node carries; the placedriver is told what has changed. */
      'load-report-ms': z.number().int().min(100).max(PERIOD_MS_MAX).default(10_000),
      /** How long a node that stops waits for others to take over its leaders; 0: not at all. */
      'hand-over-ms': z.number().int().min(0).max(10_000).default(5_000),
      /** From the end of one pass of the scrub over all tables to the next. */
      'scrub-pause-ms': z
        .number()
        .int()
        .min(100)
        .max(limits.timerMsMax)
        .default(limits.scrubPauseMs),
    })
    .refine((timing) => timing['heartbeat-ticks'] < timing['election-ticks'], {
      path: ['heartbeat-ticks'],
      message: 'must be less than timing.election-ticks: else every leader is taken for dead',
    })
    .prefault({}),
});

type Fields = z.infer<typeof fields>;

export const datanodeConfigSchema = fields.refine((config) => zanTwin(config) === undefined, {
  path: ['zan', 'port'],
  error: ({ input }) => `is the same as ports.${zanTwin(input as Fields)}: choose another one`,
});

/** The door of `ports` that has the port of `zan` as well; their own twins are refused there. */
function zanTwin({ ports, zan }: Fields): string | undefined {
  return samePorts({ ...ports, zan: zan?.port ?? 0 })?.[0];
}

export type DatanodeConfig = z.infer<typeof datanodeConfigSchema>;
