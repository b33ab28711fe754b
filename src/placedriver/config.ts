/** The placedriver's configuration: one schema is type, check and error text. */
import { z } from 'zod';
import {
  hostField,
  logField,
  nameField,
  portField,
  runFileField,
  toldHostField,
} from '../common/config-fields.ts';
import { metaAccessFields } from '../common/config-meta.ts';
import { placedriverTlsField } from '../common/tls/config.ts';
import { parseWindow } from './stability/balance-window.ts';
import { defaultPlacementSettings, type PlacementSettings } from './term.ts';

const metaSchema = z
  .strictObject({
    /** A real etcd. */
    ...metaAccessFields,
    endpoints: metaAccessFields.endpoints.optional(),
    /**
     * The store inside this process, for one machine without etcd. With `tls` it takes TLS alone, of
     * who shows a certificate of `tls.ca-file`.
     */
    embedded: z.strictObject({ port: portField, tls: z.boolean().default(false) }).optional(),
  })
  .refine(({ endpoints, embedded }) => (endpoints === undefined) !== (embedded === undefined), {
    message: 'needs either endpoints (an etcd) or embedded (a store in this process)',
  });

/** Of the whole cluster: every placedriver is given the same. */
const placementSchema = z.strictObject({
  /** From the loss of a datanode until its replicas are made elsewhere. */
  'migrate-wait-ms': z
    .number()
    .int()
    .min(1_000)
    .max(7 * 86_400_000)
    .default(defaultPlacementSettings.migrateWaitMs),
  /** A move whose new replica is filled no further for this long is given up. */
  'move-stall-ms': z
    .number()
    .int()
    .min(1_000)
    .max(7 * 86_400_000)
    .default(defaultPlacementSettings.moveStallMs),
  /** Replicas that move at the same time, in the whole cluster. */
  'moves-at-once': z
    .number()
    .int()
    .min(1)
    .max(1_024)
    .default(defaultPlacementSettings.movesAtOnceMax),
  /** A node that is away for less should lead what it led: its lease was lost, or it restarted. */
  'leader-wait-ms': z
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(defaultPlacementSettings.leaderWaitMs),
  /** From a change until what follows from it is planned. */
  'plan-delay-ms': z
    .number()
    .int()
    .min(0)
    .max(60_000)
    .default(defaultPlacementSettings.planDelayMs),
  /** UTC; of a new cluster, operators change it later. Replicas are evened out only then. */
  'balance-window': z
    .string()
    .refine((text) => parseWindow(text) !== undefined, 'a time of the day in UTC as 01:00-05:00')
    .optional(),
});
const httpSchema = z
  .strictObject({
    /** Writes need it (`Authorization: Bearer …`); all placedrivers have the same. */
    token: z.string().optional(),
    /** A file that holds it: what surrounds it there is cut off. Read at the start. */
    'token-file': z.string().min(1).optional(),
  })
  .refine((http) => http.token === undefined || http['token-file'] === undefined, {
    message: 'takes either token or token-file',
  });

const fields = z.strictObject({
  name: nameField,
  'data-dir': z.string().min(1),
  /** Address that clients and other placedrivers are told. */
  host: toldHostField.default('127.0.0.1'),
  /** Address to listen on; the announced one when absent. */
  listen: hostField.optional(),
  ports: z.strictObject({ http: portField.default(18_001) }).prefault({}),
  http: httpSchema.prefault({}),
  meta: metaSchema,
  /** Encrypted connections; plain ones when absent. */
  tls: placedriverTlsField,
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
  placement: placementSchema.prefault({}),
  'run-file': runFileField,
  log: logField,
  timing: z
    .strictObject({ 'lease-ttl-ms': z.number().int().min(1_000).max(600_000).default(10_000) })
    .prefault({}),
});

export const placedriverConfigSchema = fields
  .refine(({ ports, meta }) => ports.http === 0 || ports.http !== meta.embedded?.port, {
    path: ['meta', 'embedded', 'port'],
    message: 'is the same as ports.http',
  })
  .refine(({ meta, tls }) => meta.embedded?.tls !== true || hasAll(tls), {
    path: ['meta', 'embedded', 'tls'],
    message: 'needs cert-file, key-file and ca-file of the section tls',
  });

function hasAll(tls: z.infer<typeof placedriverTlsField>): boolean {
  return [tls['cert-file'], tls['key-file'], tls['ca-file']].every((file) => file !== undefined);
}

export type PlacedriverConfig = z.infer<typeof placedriverConfigSchema>;

export function placementSettingsOf({ placement }: PlacedriverConfig): PlacementSettings {
  const window = placement['balance-window'];
  const balanceWindow = window === undefined ? undefined : parseWindow(window);
  return {
    migrateWaitMs: placement['migrate-wait-ms'],
    leaderWaitMs: placement['leader-wait-ms'],
    moveStallMs: placement['move-stall-ms'],
    movesAtOnceMax: placement['moves-at-once'],
    planDelayMs: placement['plan-delay-ms'],
    ...(balanceWindow && { balanceWindow }),
  };
}
