/** `kvorum certificates init` and `issue`. */
import { isIP } from 'node:net';
import { nameField } from '../../common/config-fields.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { systemRandom } from '../../common/random.ts';
import { issueCertificate, makeAuthority } from './authority.ts';
import {
  AUTHORITY,
  assertFree,
  certificateFile,
  keyFile,
  readAuthorityFiles,
  writePair,
} from './certificate-files.ts';
import type { InitFlags, IssueFlags } from './verbs.ts';

/** RFC 1123, and a star as the first label. */
const DNS_NAME = /^(?:\*\.)?(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?)+$/;
const DNS_NAME_MAX = 253;

/** Makes an authority below `dir`. */
export function initAuthority(dir: string, { days }: InitFlags): void {
  assertFree(dir, AUTHORITY);
  const random = systemRandom();
  // by its name alone would two authorities be the same to who looks for an issuer
  const name = `kvorum authority ${random.hex(4)}`;
  writePair(dir, AUTHORITY, makeAuthority(name, { random, nowMs: Date.now(), days }));
  say(`made ${certificateFile(dir, AUTHORITY)}: give it to every process and client`);
  say(`made ${keyFile(dir, AUTHORITY)}: keep it secret, it signs for the whole cluster`);
}

/** Makes a key and a certificate below `dir`, signed by the authority there. */
export function issue(dir: string, name: string, { host = [], client, days }: IssueFlags): void {
  const clientOnly = client === true;
  checkNames(name, host, clientOnly);
  assertFree(dir, name);
  const authority = readAuthorityFiles(dir);
  const making = { random: systemRandom(), nowMs: Date.now(), days };
  writePair(dir, name, issueCertificate(authority, { name, hosts: host, clientOnly }, making));
  const whose = clientOnly ? `client ${name}` : `${name} at ${host.join(', ')}`;
  say(`made ${certificateFile(dir, name)} and ${keyFile(dir, name)} for ${whose}, ${days} days`);
}

function checkNames(name: string, hosts: readonly string[], clientOnly: boolean): void {
  const named = nameField.safeParse(name);
  if (!named.success) bad(`${JSON.stringify(name)} cannot be a name: ${messageOfIssue(named)}`);
  if (!clientOnly && hosts.length === 0) {
    bad('needs --host with each name and address it is dialed by, or --client for a client');
  }
  const wrong = hosts.find((host) => isIP(host) === 0 && !isDnsName(host));
  if (wrong !== undefined)
    bad(`--host ${wrong}: no name or address, as db1.example.org or 10.1.0.1`);
}

function isDnsName(host: string): boolean {
  // what looks like an address is taken for one by who dials, and no name answers for that
  return host.length <= DNS_NAME_MAX && DNS_NAME.test(host) && !/^[\d.]+$/.test(host);
}

function messageOfIssue({ error }: ReturnType<typeof nameField.safeParse>): string {
  return error?.issues[0]?.message ?? messageOf(error);
}

function bad(text: string): never {
  throw new KvorumError('BAD_ARGUMENT', text);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
