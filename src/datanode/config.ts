/** The datanode's configuration: one schema is type, check and error text. */
import { z } from 'zod';
import { limits } from '../common/limits.ts';

const port = z.number().int().min(0).max(65_535);
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'letters, digits, dot, dash and underscore, 63 at most',
  );

export const datanodeConfigSchema = z.strictObject({
  /** Unique in the cluster; stays with the data directory. */
  name,
  'data-dir': z.string().min(1),
  /** Address that clients and peers are told. */
  host: z.string().min(1).default('127.0.0.1'),
  /** Address to listen on; the announced one when absent. */
  listen: z.string().min(1).optional(),
  ports: z
    .strictObject({
      gateway: port.default(6379),
      cluster: port.default(7001),
      transport: port.default(17_001),
      http: port.default(27_001),
    })
    .prefault({}),
  meta: z.strictObject({ endpoints: z.array(z.string().min(1)).min(1) }),
  /** `dc_info` and `host` are failure domains in placement. */
  tags: z.record(z.string(), z.string()).default({}),
  /** Where name, pid and ports are told to `kvorum status`; none when absent. */
  'run-file': z.string().optional(),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
      /** JSON lines go here; to standard output when absent. */
      file: z.string().optional(),
    })
    .default({ level: 'info' }),
  limits: z
    .strictObject({
      maxclients: z.number().int().min(1).max(1_000_000).default(10_000),
      'value-bytes-max': z
        .number()
        .int()
        .min(1)
        .max(32 * 1024 * 1024)
        .default(16 * 1024 * 1024),
      'engine-cache-bytes': z
        .number()
        .int()
        .min(1024 * 1024)
        .default(64 * 1024 * 1024),
      /** What all snapshots together may send, so that clients are served meanwhile. */
      'snapshot-bytes-per-second': z
        .number()
        .int()
        .min(64 * 1024)
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
      'max-clock-skew-ms': z.number().int().min(0).default(500),
      'engine-sync-interval-ms': z.number().int().min(1).default(250),
      'hold-ms': z.number().int().min(0).max(60_000).default(5_000),
      /** From the end of one pass of the scrub over all tables to the next. */
      'scrub-pause-ms': z.number().int().min(100).default(limits.scrubPauseMs),
    })
    .prefault({}),
});

export type DatanodeConfig = z.infer<typeof datanodeConfigSchema>;
