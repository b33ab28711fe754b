/**
 * `kvorum start --etcd`: which etcd, and whether what it holds belongs to the data directory. Two
 * clusters never share one etcd by accident, and nothing in it is deleted but our own cluster.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../common/clock.ts';
import { codeOf, KvorumError, messageOf } from '../common/errors.ts';
import { fsDisk } from '../common/fs-disk.ts';
import { limits } from '../common/limits.ts';
import { silentLogger } from '../common/log.ts';
import { systemRandom } from '../common/random.ts';
import {
  haveOneScheme,
  STORE_URL_WANTED,
  STORE_URLS_WANTED,
  storeUrl,
} from '../common/store-urls.ts';
import { readSomeCredentials } from '../common/tls/credentials.ts';
import { loadIdentity } from '../datanode/coordinator/identity.ts';
import { connectEtcd } from '../meta/etcd.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import { keys } from '../meta/schema.ts';
import type { MetaStore } from '../meta/store.ts';

/** The members of `URL[,URL]`, by the rules of `meta.endpoints`. Throws BAD_CONFIG. */
export function parseEtcdUrls(text: string): readonly string[] {
  const urls = text.split(',').map((given) => {
    const url = storeUrl(given.trim());
    if (url === undefined) {
      throw badConfig(`--etcd ${given.trim() || text}: each must be ${STORE_URL_WANTED}`);
    }
    return url;
  });
  if (!haveOneScheme(urls)) throw badConfig(`--etcd ${text}: must be ${STORE_URLS_WANTED}`);
  return [...new Set(urls)];
}

export interface EtcdFileFlags {
  readonly etcdCa?: string;
  readonly etcdCert?: string;
  readonly etcdKey?: string;
}

/** Of an etcd over https: as the section `meta` of a configuration names them, with whole paths. */
export type EtcdFiles = Readonly<Partial<Record<'ca-file' | 'cert-file' | 'key-file', string>>>;

/** `ownAuthority`: processes have one of their own (`--tls`), and would believe it alone. */
export function parseEtcdFiles(
  { etcdCa, etcdCert, etcdKey }: EtcdFileFlags,
  urls: readonly string[] | undefined,
  ownAuthority: boolean,
): EtcdFiles {
  const named = { 'ca-file': etcdCa, 'cert-file': etcdCert, 'key-file': etcdKey };
  const given = Object.entries(named).filter(([, file]) => file !== undefined);
  const isSecure = urls?.[0]?.startsWith('https:') ?? false;
  if (given.length > 0 && !isSecure) {
    throw badConfig('--etcd-ca, --etcd-cert and --etcd-key are for --etcd https://…');
  }
  if (isSecure && ownAuthority && etcdCa === undefined) {
    throw badConfig(
      'with --tls an etcd over https needs --etcd-ca FILE: the authority of its certificate',
    );
  }
  return Object.fromEntries(given.map(([field, file]) => [field, resolve(file!)]));
}

export interface EtcdUse {
  readonly urls: readonly string[];
  readonly files?: EtcdFiles | undefined;
  readonly data: string;
  /** The directory was made by an earlier start and is kept. */
  readonly reopened: boolean;
  readonly fresh: boolean;
  say(line: string): void;
}

/**
 * Throws BAD_CONFIG when etcd cannot be reached by a new cluster, or holds another one. Returns
 * what must be done before the directory is cleared: with --fresh our cluster is deleted in etcd too,
 * and only the directory tells that it is ours.
 */
export async function checkEtcd(use: EtcdUse): Promise<() => Promise<void>> {
  const { data } = use;
  const own = await clusterOf(data);
  let found: string | undefined;
  try {
    found = await withStore(use, clusterIn);
  } catch (failure) {
    if (codeOf(failure) !== 'STORE_UNAVAILABLE') throw failure;
    if (!use.reopened) {
      throw badConfig(`a new cluster needs its etcd: ${messageOf(failure)}`, failure);
    }
    use.say(`${messageOf(failure)}\nstarting without it: datanodes serve from their last table`);
    return async () => {};
  }
  if (use.reopened) {
    if (own !== undefined && found !== own) throw otherCluster(use, own, found);
    return async () => {};
  }
  if (found === undefined) return async () => {};
  if (!use.fresh || found !== own) throw occupied(use, found);
  return () => withStore(use, erase);
}

/** The cluster that the datanodes of this directory belong to. */
async function clusterOf(data: string): Promise<string | undefined> {
  const names = existsSync(data) ? readdirSync(data) : [];
  for (const name of names.filter((each) => /^datanode\d+$/.test(each))) {
    // A damaged one is the datanode's to report.
    const identity = await loadIdentity(fsDisk, join(data, name), name).catch(() => undefined);
    if (identity !== undefined) return identity.clusterId;
  }
  return undefined;
}

async function withStore<T>(
  { urls, files = {} }: EtcdUse,
  run: (store: MetaStore) => Promise<T>,
): Promise<T> {
  const current = await readFiles(files);
  const credentials = Object.keys(files).length === 0 ? undefined : { current };
  const world = { clock: systemClock, random: systemRandom(), logger: silentLogger };
  const store = connectEtcd({ ...world, urls, credentials });
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

function readFiles({
  'ca-file': authorities,
  'cert-file': certificate,
  'key-file': key,
}: EtcdFiles) {
  const files = {
    ...(authorities !== undefined && { authorities }),
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
  };
  const flags = { authorities: '--etcd-ca', certificate: '--etcd-cert', key: '--etcd-key' };
  return readSomeCredentials(fsDisk, files, systemClock.wallMs(), flags);
}

async function clusterIn(store: MetaStore): Promise<string | undefined> {
  const item = await store.get(keys.cluster);
  return item && decodeRecord(recordKinds.cluster, item.key, item.value).clusterId;
}

/** The record of the cluster goes last: an erasure that was cut short can be seen. */
async function erase(store: MetaStore): Promise<void> {
  const { items } = await store.range(keys.root);
  const names = items.map(({ key }) => key).filter((key) => key !== keys.cluster);
  for (let at = 0; at < names.length; at += limits.metaTxnOperationsMax) {
    const part = names.slice(at, at + limits.metaTxnOperationsMax);
    await store.transaction(
      [],
      part.map((key) => ({ type: 'delete', key })),
    );
  }
  await store.delete(keys.cluster);
}

function occupied({ urls, data, fresh }: EtcdUse, found: string): KvorumError {
  const whose = fresh ? `, which is not the cluster of ${data}` : '';
  return badConfig(
    `etcd at ${urls.join(',')} holds kvorum cluster ${found}${whose}; start with the --data of ` +
      'that cluster, choose another etcd, or delete the cluster there: ' +
      `ETCDCTL_API=3 etcdctl --endpoints ${urls.join(',')} del --prefix ${keys.root}`,
  );
}

function otherCluster({ urls, data }: EtcdUse, own: string, found: string | undefined) {
  const holds = found === undefined ? 'holds no kvorum cluster' : `holds kvorum cluster ${found}`;
  return badConfig(
    `etcd at ${urls.join(',')} ${holds}, and ${data} belongs to cluster ${own}; ` +
      'name the etcd of that cluster, restore it from a backup, or choose another --data',
  );
}

function badConfig(text: string, cause?: unknown): KvorumError {
  return new KvorumError('BAD_CONFIG', text, { cause });
}
