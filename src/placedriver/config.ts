/** The placedriver's configuration: one schema is type, check and error text. */
import { z } from 'zod';
import { endpointsField, hostField, nameField, portField } from '../common/config-fields.ts';

const metaSchema = z
  .strictObject({
    /** A real etcd. */
    endpoints: endpointsField.optional(),
    /** The store inside this process, for one machine without etcd. */
    embedded: z.strictObject({ port: portField }).optional(),
  })
  .refine(({ endpoints, embedded }) => (endpoints === undefined) !== (embedded === undefined), {
    message: 'needs either endpoints (an etcd) or embedded (a store in this process)',
  });

const fields = z.strictObject({
  name: nameField,
  'data-dir': z.string().min(1),
  host: hostField.default('127.0.0.1'),
  listen: hostField.optional(),
  ports: z.strictObject({ http: portField.default(18_001) }).prefault({}),
  meta: metaSchema,
  /** Created when this many datanodes have registered for the first time. */
  default: z
    .strictObject({
      nodes: z.number().int().min(1).max(1_000).default(3),
      partitions: z.number().int().min(1).max(1_024).default(8),
      replicas: z.number().int().min(1).max(7).default(3),
      reads: z.enum(['linearizable', 'lease']).default('linearizable'),
    })
    .refine(({ nodes, replicas }) => replicas <= nodes, {
      path: ['replicas'],
      message: 'cannot be more than default.nodes: each lies on a node of its own',
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

export const placedriverConfigSchema = fields.refine(
  ({ ports, meta }) => ports.http === 0 || ports.http !== meta.embedded?.port,
  { path: ['meta', 'embedded', 'port'], message: 'is the same as ports.http' },
);

export type PlacedriverConfig = z.infer<typeof placedriverConfigSchema>;
