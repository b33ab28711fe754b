/** The placedriver's configuration: one schema is type, check and error text. */
import { z } from 'zod';

const port = z.number().int().min(0).max(65_535);
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'letters, digits, dot, dash and underscore, 63 at most',
  );

const metaSchema = z.union([
  /** A real etcd. */
  z.strictObject({ endpoints: z.array(z.string().min(1)).min(1) }),
  /** The store inside this process, for one machine without etcd. */
  z.strictObject({ embedded: z.strictObject({ port }) }),
]);

export const placedriverConfigSchema = z.strictObject({
  name,
  'data-dir': z.string().min(1),
  host: z.string().min(1).default('127.0.0.1'),
  listen: z.string().min(1).optional(),
  ports: z.strictObject({ http: port.default(18_001) }).prefault({}),
  meta: metaSchema,
  /** Created when this many datanodes have registered for the first time. */
  default: z
    .strictObject({
      nodes: z.number().int().min(1).max(1_000).default(3),
      partitions: z.number().int().min(1).max(1_024).default(8),
      replicas: z.number().int().min(1).max(7).default(3),
    })
    .prefault({}),
  'run-file': z.string().optional(),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
      file: z.string().optional(),
    })
    .default({ level: 'info' }),
  timing: z
    .strictObject({ 'lease-ttl-ms': z.number().int().min(1_000).max(600_000).default(10_000) })
    .prefault({}),
});

export type PlacedriverConfig = z.infer<typeof placedriverConfigSchema>;
