/** The certificates of `kvorum start --tls`: an authority of its data directory, and one per process. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../common/random.ts';
import { issueCertificate, makeAuthority } from './authority.ts';
import {
  AUTHORITY,
  certificateFile,
  keyFile,
  readAuthorityFiles,
  writePair,
} from './certificate-files.ts';

const DAY_MS = 86_400_000;
const LEFT_DAYS_MIN = 30;
const AUTHORITY_DAYS = 3_650;
const PROCESS_DAYS = 365;
/** What `kvorum start` listens on. */
const HOSTS = ['127.0.0.1', 'localhost', '::1'];

/** Where they lie. */
export function ownCertificatesDir(data: string): string {
  return join(data, 'tls');
}

/** The settings of one process that name its files. */
export function ownFiles(data: string, name: string) {
  const dir = ownCertificatesDir(data);
  return {
    'cert-file': certificateFile(dir, name),
    'key-file': keyFile(dir, name),
    'ca-file': certificateFile(dir, AUTHORITY),
  };
}

/** Makes what is missing, or ends within 30 days, and leaves the rest as it is. */
export function makeOwnCertificates(data: string, names: readonly string[], nowMs = Date.now()) {
  const dir = ownCertificatesDir(data);
  const random = systemRandom();
  const isNew = !isGood(dir, AUTHORITY, nowMs);
  if (isNew) {
    const making = { random, nowMs, days: AUTHORITY_DAYS };
    replace(dir, AUTHORITY, makeAuthority(`kvorum authority ${random.hex(4)}`, making));
  }
  const authority = readAuthorityFiles(dir);
  const endsMs = Date.parse(new X509Certificate(authority.certificate).validTo);
  const days = Math.min(PROCESS_DAYS, Math.floor((endsMs - nowMs) / DAY_MS));
  for (const name of names) {
    if (!isNew && isGood(dir, name, nowMs)) continue;
    const leaf = { name, hosts: HOSTS, clientOnly: false };
    replace(dir, name, issueCertificate(authority, leaf, { random, nowMs, days }));
  }
}

function isGood(dir: string, name: string, nowMs: number): boolean {
  if (!existsSync(keyFile(dir, name))) return false;
  try {
    const { validTo } = new X509Certificate(readFileSync(certificateFile(dir, name)));
    return Date.parse(validTo) - nowMs > LEFT_DAYS_MIN * DAY_MS;
  } catch {
    return false;
  }
}

function replace(dir: string, name: string, pair: Parameters<typeof writePair>[2]): void {
  for (const file of [keyFile(dir, name), certificateFile(dir, name)])
    rmSync(file, { force: true });
  writePair(dir, name, pair);
}
