/** The credentials of one process, as the section `tls` of its configuration names them. */
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Disk } from '../disk.ts';
import type { Logger } from '../log.ts';
import { credentialFiles, type DatanodeTls, isUsed, type PlacedriverTls } from './config.ts';
import { CredentialKeeper } from './keeper.ts';
import { secureContextOf } from './tls-context.ts';

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
  // what OpenSSL refuses is told of before a connection needs it
  return CredentialKeeper.open({ files, disk, clock, logger, trial: secureContextOf });
}

/** How an HTTP door speaks TLS; undefined: not at all. */
export function httpTlsOf(
  { http: mode }: Pick<PlacedriverTls, 'http'>,
  keeper: Pick<CredentialKeeper, 'current'> | undefined,
) {
  if (mode === 'off' || keeper === undefined) return undefined;
  return { mode, credentials: () => keeper.current };
}
