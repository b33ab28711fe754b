/** Settings of the way to the metadata store: addresses, certificates, and who asks. */
import { dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { endpointsField } from './config-fields.ts';
import { type Disk, readFile } from './disk.ts';
import { KvorumError, messageOf } from './errors.ts';
import { limits } from './limits.ts';

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

/** As the store's client takes it; in PEM. */
export interface StoreAccess {
  readonly credentials?: {
    readonly authorities?: string;
    readonly certificate?: string;
    readonly key?: string;
  };
  readonly auth?: { readonly user: string; readonly password: string };
}

/** Reads the files, where the store speaks TLS; rejects with BAD_CONFIG. */
export async function storeAccess(
  { meta, tls }: { readonly meta: MetaAccess; readonly tls: Files },
  { disk, configFile }: { readonly disk: Disk; readonly configFile: string },
  isSecure = meta.endpoints?.[0]?.startsWith('https:') ?? false,
): Promise<StoreAccess> {
  const { user, password = '' } = meta;
  const auth = user === undefined ? {} : { auth: { user, password } };
  if (!isSecure) return auth;
  const read = async (field: keyof Files) => {
    const path = meta[field] ?? tls[field];
    if (path === undefined) return undefined;
    const place = isAbsolute(path) ? path : join(dirname(configFile), path);
    try {
      return (await readFile(disk, place, limits.tlsFileBytesMax)).toString('latin1');
    } catch (cause) {
      throw new KvorumError('BAD_CONFIG', `${field} ${place}: ${messageOf(cause)}`, { cause });
    }
  };
  const [authorities, certificate, key] = [
    await read('ca-file'),
    await read('cert-file'),
    await read('key-file'),
  ];
  const credentials = {
    ...(authorities !== undefined && { authorities }),
    ...(certificate !== undefined && key !== undefined && { certificate, key }),
  };
  return { credentials, ...auth };
}
