/** The credentials of one process, as its configuration names them: of its doors, and on the way to the store. */
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import { type MetaAccess, storeFiles } from '../config-meta.ts';
import type { Disk } from '../disk.ts';
import { KvorumError, messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { credentialFiles, type DatanodeTls, isUsed, type PlacedriverTls } from './config.ts';
import { readCredentials, readSomeCredentials, type SomeCredentials } from './credentials.ts';
import { CredentialKeeper, type DaysLeft } from './keeper.ts';
import { secureContextOf } from './tls-context.ts';
import { checkUsable } from './usable.ts';

export interface CredentialWorld {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly logger: Logger;
  readonly configFile: string;
}

/** Undefined where no door speaks TLS; rejects with BAD_CONFIG for files that cannot be used. */
export async function keepCredentials(
  tls: DatanodeTls | PlacedriverTls,
  { clock, disk, logger, configFile }: CredentialWorld,
): Promise<CredentialKeeper | undefined> {
  if (!isUsed(tls)) return undefined;
  const files = credentialFiles(tls, dirname(configFile));
  const read = async (nowMs: number) => {
    const found = await readCredentials(disk, files, nowMs);
    // what OpenSSL refuses is told of before a connection needs it
    tryOut(() => secureContextOf(found), files.certificate, files.key);
    return found;
  };
  return CredentialKeeper.open({ read, clock, logger });
}

export type StoreKeeper = CredentialKeeper<SomeCredentials>;

/** All that one process keeps. */
export interface KeptCredentials {
  /** Of its doors; undefined where none speaks TLS. */
  readonly doors: CredentialKeeper | undefined;
  /** Of the metadata store, its client and the embedded one; undefined where no file is named. */
  readonly store: StoreKeeper | undefined;
  /** Reads all files anew; undefined where there are none. */
  readonly reload: (() => Promise<void>) | undefined;
  /** Of all files, each once; undefined where there are none. */
  daysLeft(): readonly DaysLeft[] | undefined;
  stop(): void;
}

interface Sections {
  readonly tls: DatanodeTls | PlacedriverTls;
  readonly meta: MetaAccess;
}

/** Rejects with BAD_CONFIG for files that cannot be used; nothing goes on then. */
export async function keepAllCredentials(
  { tls, meta }: Sections,
  storeSpeaksTls: boolean,
  world: CredentialWorld,
): Promise<KeptCredentials> {
  const doors = await keepCredentials(tls, world);
  let store: StoreKeeper | undefined;
  try {
    store = storeSpeaksTls ? await keepForStore({ tls, meta }, doors, world) : undefined;
  } catch (failure) {
    doors?.stop();
    throw failure;
  }
  const all = [...new Set([doors, store])].filter((one) => one !== undefined);
  const reload = async () => void (await Promise.all(all.map((one) => one.reload())));
  return {
    ...{ doors, store },
    reload: all.length === 0 ? undefined : reload,
    daysLeft: () => (all.length === 0 ? undefined : daysLeftOf(doors, store, meta)),
    stop() {
      for (const one of all) one.stop();
    },
  };
}

/** Of a file that both have once, and the store's own under the names of their settings. */
function daysLeftOf(
  doors: CredentialKeeper | undefined,
  store: StoreKeeper | undefined,
  meta: MetaAccess,
): DaysLeft[] {
  const told = new Map<string, number>();
  for (const { file, days } of doors?.daysLeft() ?? []) told.set(file, days);
  for (const { file, days } of store?.daysLeft() ?? []) {
    const name = meta[file] === undefined ? file : `meta.${file}`;
    if (!told.has(name)) told.set(name, days);
  }
  return [...told].map(([file, days]) => ({ file, days }));
}

/** That of the doors where its files are the same: what is to tell of them is told once. */
async function keepForStore(
  { tls, meta }: Sections,
  doors: CredentialKeeper | undefined,
  { clock, disk, logger, configFile }: CredentialWorld,
): Promise<StoreKeeper | undefined> {
  const { files, settings } = storeFiles(meta, tls, dirname(configFile));
  const { certificate, key, authorities } = files;
  if (doors !== undefined && isDeepStrictEqual(files, credentialFiles(tls, dirname(configFile)))) {
    return doors;
  }
  if (certificate === undefined && key === undefined && authorities === undefined) return undefined;
  const read = async () => {
    // a node serves without the store: what has expired there is told, and no reason not to start
    const found = await readSomeCredentials(disk, files, undefined, settings);
    const { certificate: cert, key: secret, authorities: ca } = found;
    const usable = { ...(cert && { cert }), ...(secret && { key: secret }), ...(ca && { ca }) };
    tryOut(() => checkUsable(usable), certificate ?? authorities, key);
    return found;
  };
  return CredentialKeeper.open({ read, clock, logger });
}

/** Throws BAD_CONFIG when these cannot be used, whatever else is right with them. */
function tryOut(use: () => unknown, ...files: readonly (string | undefined)[]): void {
  try {
    use();
  } catch (cause) {
    const which = files.filter((file) => file !== undefined).join(' and ');
    throw new KvorumError('BAD_CONFIG', `tls: ${which} cannot be used (${messageOf(cause)})`, {
      cause,
    });
  }
}

/** How an HTTP door speaks TLS; undefined: not at all. */
export function httpTlsOf(
  { http: mode }: Pick<PlacedriverTls, 'http'>,
  keeper: Pick<CredentialKeeper, 'current'> | undefined,
) {
  if (mode === 'off' || keeper === undefined) return undefined;
  return { mode, credentials: () => keeper.current };
}
