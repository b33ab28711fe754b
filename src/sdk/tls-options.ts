/** The option `tls`: checked before anything is dialled. Pure. */
import { messageOf } from '../common/errors.ts';
import { didYouMean } from '../common/nearest-name.ts';
import { checkUsable } from '../common/tls/usable.ts';
import { ownError } from './errors.ts';

/** One or several in PEM: the content of a file, not its path. */
export type Pem = string | Buffer | readonly (string | Buffer)[];

/** As `tls.connect` of Node.js has them. */
export interface TlsOptions {
  /** Authorities that are believed, in place of those of Node.js. */
  readonly ca?: Pem | undefined;
  /** What the client shows where certificates of clients are asked for; with `key`. */
  readonly cert?: Pem | undefined;
  /** Without a pass phrase. */
  readonly key?: Pem | undefined;
  /** The name that every certificate has to have; default: the host that is dialled. */
  readonly servername?: string | undefined;
  /** False: no certificate is checked, and anybody may be in between. Default true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

const pems = ['ca', 'cert', 'key'] as const;
const names = new Set<string>([...pems, 'servername', 'rejectUnauthorized']);

/** Undefined: plain. Throws BAD_OPTION. */
export function parseTls(given: unknown): TlsOptions | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return {};
  if (typeof given !== 'object' || given === null) {
    throw bad('tls must be true, false, or an object of ca, cert, key, servername');
  }
  const options: TlsOptions = given;
  const strange = Object.keys(options).find((name) => !names.has(name));
  if (strange !== undefined) {
    throw bad(`tls has no option ${strange}${didYouMean(strange, names)}; it has ${list()}`);
  }
  for (const name of pems) checkPem(name, options[name]);
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw bad('tls: cert and key go together');
  }
  const { servername, rejectUnauthorized: checks = true } = options;
  if (servername !== undefined && (typeof servername !== 'string' || servername === '')) {
    throw bad('tls: servername must be a text that is not empty');
  }
  if (typeof checks !== 'boolean') throw bad('tls: rejectUnauthorized must be true or false');
  checkTogether(options);
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** As functions of Node.js take it, which do not change what they are given. */
export function nodeTls(tls: TlsOptions) {
  return tls as TlsOptions & { readonly [Name in 'ca' | 'cert' | 'key']?: string };
}

/** OpenSSL passes over what is no PEM, and then believes nobody: a path is the usual mistake. */
function checkPem(name: string, given: unknown): void {
  if (given === undefined) return;
  const all = Array.isArray(given) ? given : [given];
  const isPem = (one: unknown) =>
    (typeof one === 'string' || Buffer.isBuffer(one)) && one.includes('-----BEGIN ');
  if (all.length > 0 && all.every(isPem)) return;
  throw bad(`tls: ${name} must be PEM (the content of a file, not its path)`);
}

function checkTogether(options: TlsOptions): void {
  try {
    checkUsable(nodeTls(options));
  } catch (failure) {
    throw bad(`tls: ca, cert and key cannot be used (${messageOf(failure)})`);
  }
}

function list(): string {
  return [...names].sort().join(', ');
}

function bad(text: string) {
  return ownError('BAD_OPTION', text);
}
