/** Certificates for tests: of one authority, made anew by each process, within some milliseconds. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  issueCertificate,
  type KeyAndCertificate,
  type Leaf,
  makeAuthority,
} from '../../../src/cli/certificates/authority.ts';
import { systemRandom } from '../../../src/common/random.ts';

const random = systemRandom();

export interface Wanted extends Partial<Leaf> {
  readonly days?: number;
  /** When it begins to be valid, if not now. */
  readonly nowMs?: number;
  readonly by?: KeyAndCertificate;
}

export function newAuthority(nowMs = Date.now(), days = 3_650): KeyAndCertificate {
  return makeAuthority(`authority ${random.hex(4)}`, { random, nowMs, days });
}

/** Whom everyone trusts, where nothing else is said. */
export const authority = newAuthority();

/** Of a node on this machine, where nothing else is said. */
export function issued(wanted: Wanted = {}): KeyAndCertificate {
  const { days = 90, nowMs = Date.now(), by = authority, ...leaf } = wanted;
  const usual = { name: 'n1', hosts: ['localhost', '127.0.0.1'], clientOnly: false };
  return issueCertificate(by, { ...usual, ...leaf }, { random, nowMs, days });
}

/** Of a client: `name` is its common name. */
export function issuedToClient(name: string, wanted: Wanted = {}): KeyAndCertificate {
  return issued({ ...wanted, name, hosts: [], clientOnly: true });
}

/** As `kvorum certificates` leaves them: `NAME.crt` and `NAME.key`. */
export function writeFiles(dir: string, name: string, pair: KeyAndCertificate): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `${name}.crt`), pair.certificate);
  writeFileSync(join(dir, `${name}.key`), pair.key, { mode: 0o600 });
}
