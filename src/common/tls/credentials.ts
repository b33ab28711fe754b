/** A certificate, its key, and the authorities that are trusted: read, and checked before use. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type Disk, readFile } from '../disk.ts';
import { KvorumError, messageOf } from '../errors.ts';
import { limits } from '../limits.ts';
import type { CredentialFiles, FileSettings, SomeFiles } from './config.ts';

const DAY_MS = 86_400_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** What a process may show, and whom it trusts; never changed, but replaced as a whole. */
export interface SomeCredentials {
  /** In PEM: its own certificate, then those on the way to its authority. */
  readonly certificate: string | undefined;
  /** In PEM. */
  readonly key: string | undefined;
  /** In PEM; undefined: those that Node.js trusts. */
  readonly authorities: string | undefined;
  /** The certificates of each file, with their ends. */
  readonly ends: readonly CertificateEnd[];
}

/** Of a process that shows a certificate. */
export interface Credentials extends SomeCredentials {
  readonly certificate: string;
  readonly key: string;
}

/** So much of them goes into a handshake. */
export type ShownCredentials = Pick<Credentials, 'certificate' | 'key' | 'authorities'>;

export interface CertificateEnd {
  readonly file: 'cert-file' | 'ca-file';
  readonly subject: string;
  /** As OpenSSL writes it. */
  readonly ends: string;
  readonly endsMs: number;
}

/** How long a certificate is valid yet; negative when it has ended. */
export function daysLeft({ endsMs }: CertificateEnd, nowMs: number): number {
  return (endsMs - nowMs) / DAY_MS;
}

/** Reads the files; KvorumError BAD_CONFIG names the setting, the file and what is wrong with it. */
export async function readCredentials(
  disk: Disk,
  files: CredentialFiles,
  nowMs: number,
): Promise<Credentials> {
  const { certificate, key, ...rest } = await readSomeCredentials(disk, files, nowMs);
  return { certificate: certificate!, key: key!, ...rest };
}

/**
 * As `readCredentials`, of those that are named. Without `nowMs` one that has expired, or is not valid yet,
 * is taken too: its keeper tells of it.
 */
export async function readSomeCredentials(
  disk: Disk,
  files: SomeFiles,
  nowMs: number | undefined,
  settings?: FileSettings,
): Promise<SomeCredentials> {
  const file = (one: keyof CredentialFiles): NamedFile | undefined => {
    const path = files[one];
    return path === undefined ? undefined : { setting: settings?.[one] ?? usual[one], path };
  };
  const shown = file('certificate');
  const trusted = file('authorities');
  const keyFile = file('key');
  if ((shown === undefined) !== (keyFile === undefined)) throw alone((shown ?? keyFile)!);
  const certificate = await readText(disk, shown);
  const key = await readText(disk, keyFile);
  const authorities = await readText(disk, trusted);
  const chain = certificatesIn(shown, certificate);
  if (shown !== undefined && keyFile !== undefined) {
    checkKey(keyFile, key!, shown.path, chain[0]!);
    if (nowMs !== undefined) for (const one of chain) checkTime(shown, one, nowMs);
  }
  const ends = [
    ...chain.map((one) => endOf('cert-file', one)),
    ...certificatesIn(trusted, authorities).map((one) => endOf('ca-file', one)),
  ];
  return { certificate, key, authorities, ends };
}

/** A file, and the setting that names it. */
interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

const usual = {
  certificate: 'tls.cert-file',
  key: 'tls.key-file',
  authorities: 'tls.ca-file',
} as const;

async function readText(disk: Disk, file: NamedFile | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    const bytes = await readFile(disk, file.path, limits.tlsFileBytesMax);
    return bytes.toString('latin1');
  } catch (cause) {
    throw bad(file, `cannot be read (${messageOf(cause)})`, cause);
  }
}

function certificatesIn(file: NamedFile | undefined, text: string | undefined): X509Certificate[] {
  if (file === undefined || text === undefined) return [];
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) throw bad(file, 'has no certificate in PEM');
  return found.map((pem, at) => {
    try {
      return new X509Certificate(pem);
    } catch (cause) {
      throw bad(file, `its certificate ${at + 1} is damaged (${messageOf(cause)})`, cause);
    }
  });
}

function checkKey(file: NamedFile, text: string, shown: string, own: X509Certificate): void {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    const why = /ENCRYPTED/.test(text)
      ? 'has a pass phrase, and nobody could tell it to this process: write it without'
      : `is no private key in PEM (${messageOf(cause)})`;
    throw bad(file, why, cause);
  }
  if (own.checkPrivateKey(key)) return;
  throw bad(file, `is not the key of the certificate in ${shown}`);
}

function checkTime(
  file: NamedFile,
  { validFrom, validTo, subject }: X509Certificate,
  nowMs: number,
) {
  if (Date.parse(validTo) <= nowMs) {
    throw bad(file, `${nameOf(subject)} has expired, on ${validTo}`);
  }
  if (Date.parse(validFrom) <= nowMs) return;
  throw bad(file, `${nameOf(subject)} is not yet valid, but from ${validFrom} on`);
}

function endOf(file: CertificateEnd['file'], one: X509Certificate): CertificateEnd {
  const { subject, validTo: ends } = one;
  return { file, subject: nameOf(subject), ends, endsMs: Date.parse(ends) };
}

/** Its parts in one line; a certificate need not have any. */
function nameOf(subject: string | undefined): string {
  return subject?.split('\n').join(', ') || 'a certificate without a name';
}

function alone({ setting, path }: NamedFile): KvorumError {
  const text = `${setting}: ${path}: a certificate and its key go together: cert-file and key-file`;
  return new KvorumError('BAD_CONFIG', text);
}

function bad({ setting, path }: NamedFile, why: string, cause?: unknown): KvorumError {
  return new KvorumError('BAD_CONFIG', `${setting}: ${path}: ${why}`, { cause });
}
