/** A certificate, its key, and the authorities that are trusted: read, and checked before use. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type Disk, readFile } from '../disk.ts';
import { KvorumError, messageOf } from '../errors.ts';
import { limits } from '../limits.ts';
import type { CredentialFiles } from './config.ts';

const DAY_MS = 86_400_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** What a process shows and whom it trusts; never changed, but replaced as a whole. */
export interface Credentials {
  /** In PEM: its own certificate, then those on the way to its authority. */
  readonly certificate: string;
  /** In PEM. */
  readonly key: string;
  /** In PEM; undefined: those that Node.js trusts. */
  readonly authorities: string | undefined;
  /** The certificates of each file, with their ends. */
  readonly ends: readonly CertificateEnd[];
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
  const certificate = await readText(disk, 'cert-file', files.certificate);
  const key = await readText(disk, 'key-file', files.key);
  const authorities =
    files.authorities === undefined
      ? undefined
      : await readText(disk, 'ca-file', files.authorities);
  const chain = certificatesIn('cert-file', files.certificate, certificate);
  checkKey(files, chain[0]!, key);
  for (const one of chain) checkTime(files.certificate, one, nowMs);
  const trusted =
    authorities === undefined ? [] : certificatesIn('ca-file', files.authorities!, authorities);
  const ends = [
    ...chain.map((one) => endOf('cert-file', one)),
    ...trusted.map((one) => endOf('ca-file', one)),
  ];
  return { certificate, key, authorities, ends };
}

async function readText(disk: Disk, setting: string, path: string): Promise<string> {
  try {
    const bytes = await readFile(disk, path, limits.tlsFileBytesMax);
    return bytes.toString('latin1');
  } catch (cause) {
    throw bad(setting, path, `cannot be read (${messageOf(cause)})`, cause);
  }
}

function certificatesIn(setting: string, path: string, text: string): X509Certificate[] {
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) throw bad(setting, path, 'has no certificate in PEM');
  return found.map((pem, at) => {
    try {
      return new X509Certificate(pem);
    } catch (cause) {
      throw bad(setting, path, `its certificate ${at + 1} is damaged (${messageOf(cause)})`, cause);
    }
  });
}

function checkKey(files: CredentialFiles, own: X509Certificate, text: string): void {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    const why = /ENCRYPTED/.test(text)
      ? 'has a pass phrase, and nobody could tell it to this process: write it without'
      : `is no private key in PEM (${messageOf(cause)})`;
    throw bad('key-file', files.key, why, cause);
  }
  if (own.checkPrivateKey(key)) return;
  throw bad('key-file', files.key, `is not the key of the certificate in ${files.certificate}`);
}

function checkTime(path: string, { validFrom, validTo, subject }: X509Certificate, nowMs: number) {
  if (Date.parse(validTo) <= nowMs) {
    throw bad('cert-file', path, `${nameOf(subject)} has expired, on ${validTo}`);
  }
  if (Date.parse(validFrom) <= nowMs) return;
  const text = `${nameOf(subject)} is not yet valid, but from ${validFrom} on`;
  throw bad('cert-file', path, text);
}

function endOf(file: CertificateEnd['file'], one: X509Certificate): CertificateEnd {
  const { subject, validTo: ends } = one;
  return { file, subject: nameOf(subject), ends, endsMs: Date.parse(ends) };
}

/** Its parts in one line; a certificate need not have any. */
function nameOf(subject: string | undefined): string {
  return subject?.split('\n').join(', ') || 'a certificate without a name';
}

function bad(setting: string, path: string, why: string, cause?: unknown): KvorumError {
  return new KvorumError('BAD_CONFIG', `tls.${setting}: ${path}: ${why}`, { cause });
}
