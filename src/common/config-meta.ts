/** Settings of the way to the metadata store: addresses, certificates, and who asks. */
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { endpointsField } from './config-fields.ts';
import type { FileSettings, SomeFiles } from './tls/config.ts';

const fileField = z.string().min(1).optional();

/** For https; those that are absent are the process's own, of the section `tls`. */
const files = { 'ca-file': fileField, 'cert-file': fileField, 'key-file': fileField };
export const metaAccessFields = {
  endpoints: endpointsField,
  ...files,
  /** Of an etcd that has authentication enabled. */
  user: z.string().min(1).optional(),
  password: z.string().optional(),
};

interface Files {
  readonly 'ca-file'?: string | undefined;
  readonly 'cert-file'?: string | undefined;
  readonly 'key-file'?: string | undefined;
}

export interface MetaAccess extends Files {
  readonly endpoints?: readonly string[] | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}

/** Whom an etcd with authentication knows. */
export interface StoreAuth {
  readonly user: string;
  readonly password: string;
}

/** What is shown to the store, and whom to believe there; in PEM. */
export interface StoreCredentials {
  readonly authorities: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** As the store's client takes who asks; without `user` nobody in particular. */
export function storeAuth({ user, password = '' }: MetaAccess): { readonly auth?: StoreAuth } {
  return user === undefined ? {} : { auth: { user, password } };
}

/** Whether the store is reached over TLS: all its members are, or none. */
export function isSecureStore({ endpoints }: MetaAccess): boolean {
  return endpoints?.[0]?.startsWith('https:') ?? false;
}

/** The files for a store that speaks TLS, and the settings that name them. */
export function storeFiles(
  meta: MetaAccess,
  tls: Files,
  configDir: string,
): { readonly files: SomeFiles; readonly settings: FileSettings } {
  const place = (field: keyof Files) => {
    const path = meta[field] ?? tls[field];
    return path === undefined || isAbsolute(path) ? path : join(configDir, path);
  };
  const setting = (field: keyof Files) => `${meta[field] === undefined ? 'tls' : 'meta'}.${field}`;
  const of = <T>(get: (field: keyof Files) => T) => ({
    authorities: get('ca-file'),
    certificate: get('cert-file'),
    key: get('key-file'),
  });
  const files = Object.entries(of(place)).filter(([, path]) => path !== undefined);
  return { files: Object.fromEntries(files), settings: of(setting) };
}
