/** The section `tls` of a process's configuration: one schema is type, check and error text. */
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';

const fileField = z.string().min(1).optional();

/** PEM files, beside the configuration file unless they begin with a slash. */
const fileFields = {
  /** The process's own certificate, behind it what lies between that and its authority. */
  'cert-file': fileField,
  /** Of that certificate, without a pass phrase. */
  'key-file': fileField,
  /** Authorities, one or several: who shows a certificate was given it by one of them. */
  'ca-file': fileField,
};

/** `optional`: one port takes both, by the first byte of a connection. */
const doorField = z.enum(['off', 'optional', 'required']).default('off');

const NEEDS_PAIR = 'TLS needs both cert-file and key-file';

interface Files {
  readonly 'cert-file'?: string | undefined;
  readonly 'key-file'?: string | undefined;
}

function hasPair(tls: Files): boolean {
  return tls['cert-file'] !== undefined && tls['key-file'] !== undefined;
}

type Mode = 'off' | 'optional' | 'required' | 'accept' | 'dial';

interface Doors {
  readonly http: Mode;
  /** Of datanodes. */
  readonly clients?: Mode;
  readonly nodes?: Mode;
}

/** Whether any of a process's doors speaks TLS. */
export function isUsed({ http, clients = 'off', nodes = 'off' }: Doors): boolean {
  return [http, clients, nodes].some((mode) => mode !== 'off');
}

/** Of a placedriver, which has no doors but HTTP. */
export const placedriverTlsField = z
  .strictObject({ ...fileFields, http: doorField })
  .refine((tls) => tls.http === 'off' || hasPair(tls), { message: NEEDS_PAIR })
  .prefault({});

/** Of a datanode. */
export const datanodeTlsField = z
  .strictObject({
    ...fileFields,
    /** All ports of clients. */
    clients: doorField,
    /** Whether a client has to show a certificate, as Redis's tls-auth-clients no, optional, yes. */
    'client-certificates': z.enum(['ignore', 'optional', 'required']).default('ignore'),
    /** A client is the user that its certificate names, as Redis's tls-auth-clients-user. */
    'client-certificate-user': z.enum(['off', 'common-name']).default('off'),
    /**
     * Between datanodes: `accept` takes both and dials plain, `dial` takes both and dials TLS; so a
     * cluster that runs goes over, node after node.
     */
    nodes: z.enum(['off', 'accept', 'dial', 'required']).default('off'),
    http: doorField,
  })
  .refine((tls) => !isUsed(tls) || hasPair(tls), { message: NEEDS_PAIR })
  .refine(
    (tls) =>
      tls['ca-file'] !== undefined ||
      (tls.nodes === 'off' && tls['client-certificates'] === 'ignore'),
    { path: ['ca-file'], message: 'must be there: without it no certificate of others is checked' },
  )
  .refine(
    (tls) => tls['client-certificate-user'] === 'off' || tls['client-certificates'] !== 'ignore',
    {
      path: ['client-certificate-user'],
      message: 'needs client-certificates optional or required: else no client shows one',
    },
  )
  .prefault({});

export type DatanodeTls = z.infer<typeof datanodeTlsField>;
export type PlacedriverTls = z.infer<typeof placedriverTlsField>;

/** Where the files of one process lie. */
export interface CredentialFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authorities?: string | undefined;
}

/** Of who need not show a certificate. */
export type SomeFiles = Partial<CredentialFiles>;

/** The settings that name them, for what is wrong with one; those of the section tls when absent. */
export type FileSettings = Readonly<Partial<Record<keyof CredentialFiles, string>>>;

/** Of a section that names both a certificate and a key; `configDir` is where its file lies. */
export function credentialFiles(
  tls: PlacedriverTls | DatanodeTls,
  configDir: string,
): CredentialFiles {
  const beside = (path: string) => (isAbsolute(path) ? path : join(configDir, path));
  const authorities = tls['ca-file'];
  return {
    certificate: beside(tls['cert-file']!),
    key: beside(tls['key-file']!),
    ...(authorities !== undefined && { authorities: beside(authorities) }),
  };
}
