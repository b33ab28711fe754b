/** What a client is made from: a URL or options, checked and filled with defaults. Pure. */

import { hostPort } from '../common/host-port.ts';
import { didYouMean } from '../common/nearest-name.ts';
import type { Address } from '../common/network.ts';
import { checkConsistency } from './arguments.ts';
import type { Consistency } from './command-types.ts';
import { ownError } from './errors.ts';
import { parseTls, type TlsOptions } from './tls-options.ts';

/** One of `placedrivers` and `datanodes` must be given. */
export interface ClientOptions {
  /**
   * `host:port` of the HTTP API of one or more placedrivers: they tell the partitions. Those named
   * `https://host:port` are asked over TLS, with what `tls` says of certificates.
   */
  readonly placedrivers?: readonly string[] | undefined;
  /**
   * `host:port` of datanodes instead, cluster ports (the client is told who leads) or gateway ports
   * (nodes pass commands on). Without placedrivers there are no sessions and no follower reads; over
   * cluster ports also no commands about all keys, such as SCAN, DBSIZE and FLUSHALL.
   */
  readonly datanodes?: readonly string[] | undefined;
  /** Default `default`. Cluster ports serve no other than the user's own. */
  readonly namespace?: string | undefined;
  /** User and password of AUTH; a password alone is the user `default`'s. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** TLS with all datanodes, those that are told included; true: as Node.js does by itself. */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Whether writes run in a session and so at most once when they are sent again. Default true. */
  readonly sessions?: boolean | undefined;
  /** Of a call with all its retries, in milliseconds. Default 15,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * How long a read, or a write in a session, waits for a reply before it is sent again, elsewhere
   * if possible, in milliseconds; twice as long after one silence, four times after more. Default
   * 6,000: longer than datanodes hold a request while there is no leader.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts of a call, the first included. Default 64. */
  readonly attemptsMax?: number | undefined;
  /** First and longest pause between attempts, in milliseconds. Defaults 10 and 1,000. */
  readonly backoffMinMs?: number | undefined;
  readonly backoffMaxMs?: number | undefined;
  /** For a connection to be made, in milliseconds. Default 3,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Between two lookups of the partitions, give or take a fifth, in milliseconds. Default 3,000. */
  readonly lookupMs?: number | undefined;
  /**
   * Commands sent and not answered, per partition, and as many that block; more wait in the client.
   * Default 1,024.
   */
  readonly maxInFlight?: number | undefined;
  /** Commands that wait in the client; beyond, a call is rejected. Default 100,000. */
  readonly maxQueued?: number | undefined;
  /** Of reads, unless a call says otherwise. Default `linearizable`. */
  readonly consistency?: Consistency | undefined;
  /** The tag `dc_info` of the datanodes near this client: they are preferred for stale reads. */
  readonly dc?: string | undefined;
  /** The datanodes' `replica-max-staleness-ms`, in milliseconds. Default 10,000. */
  readonly replicaMaxStalenessMs?: number | undefined;
  /** True: nothing is looked up before the first call or `connect()`. Default false. */
  readonly lazyConnect?: boolean | undefined;
}

/** Options without a default. */
type Bare = 'placedrivers' | 'datanodes' | 'username' | 'password' | 'dc' | 'namespace' | 'tls';

type Filled = {
  readonly [Name in Exclude<keyof ClientOptions, Bare>]-?: Exclude<ClientOptions[Name], undefined>;
};

/** Options with every default filled in. */
export interface Settings extends Filled {
  readonly source: /** `host:port`, or `https://host:port`. */
    | { readonly kind: 'placedrivers'; readonly addresses: readonly string[] }
    | { readonly kind: 'datanodes'; readonly addresses: readonly Address[] };
  /** Undefined only with datanodes: where the user begins. */
  readonly namespace: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly dc: string | undefined;
  /** Undefined: connections to datanodes are plain. */
  readonly tls: TlsOptions | undefined;
}

const numbers = {
  timeoutMs: 15_000,
  attemptTimeoutMs: 6_000,
  attemptsMax: 64,
  backoffMinMs: 10,
  backoffMaxMs: 1_000,
  connectTimeoutMs: 3_000,
  lookupMs: 3_000,
  maxInFlight: 1_024,
  maxQueued: 100_000,
  replicaMaxStalenessMs: 10_000,
} as const;

/** Texts, also where they look like a number or a flag. */
const texts = new Set<string>(['namespace', 'username', 'password', 'dc']);

const names = new Set<string>([
  ...Object.keys(numbers),
  ...texts,
  ...['placedrivers', 'datanodes', 'sessions', 'consistency', 'lazyConnect', 'tls'],
]);

/** Options of ioredis, which many programs were written for. */
const inPlaceOf: ReadonlyMap<string, string> = new Map([
  ['host', 'datanodes'],
  ['port', 'datanodes'],
  ['db', 'namespace'],
  ['keyPrefix', 'namespace'],
  ['commandTimeout', 'timeoutMs'],
  ['maxRetriesPerRequest', 'attemptsMax'],
  ['maxRedirections', 'attemptsMax'],
  ['retryStrategy', 'backoffMinMs, backoffMaxMs'],
  ['clusterRetryStrategy', 'backoffMinMs, backoffMaxMs'],
  ['scaleReads', 'consistency'],
]);

/** Throws BAD_OPTION, naming the option and what it must be. */
export function parseOptions(given: string | ClientOptions): Settings {
  const options = typeof given === 'string' ? optionsOfUrl(given) : given;
  if (typeof options !== 'object' || options === null) {
    throw bad('a client is made from a URL or an object of options');
  }
  for (const name of Object.keys(options)) {
    if (names.has(name)) continue;
    const like = inPlaceOf.get(name);
    const hint = like === undefined ? didYouMean(name, names) : ` (${like} takes its place)`;
    throw bad(`there is no option ${name}${hint}; there are ${list(names)}`);
  }
  const source = sourceOf(options);
  const sessions = flag(options, 'sessions', source.kind === 'placedrivers');
  if (sessions && source.kind === 'datanodes') {
    throw bad('sessions need placedrivers: datanodes alone do not tell the groups');
  }
  const { consistency = 'linearizable' } = options;
  try {
    checkConsistency(consistency, 'consistency');
  } catch (error) {
    throw bad(error instanceof Error ? error.message : String(error));
  }
  const username = text(options, 'username');
  const password = text(options, 'password');
  if (username !== undefined && password === undefined) throw bad('username needs a password');
  const namespace = text(options, 'namespace');
  return {
    ...(Object.fromEntries(
      Object.entries(numbers).map(([name, fallback]) => [
        name,
        number(options, name as keyof typeof numbers, fallback),
      ]),
    ) as Record<keyof typeof numbers, number>),
    source,
    namespace: source.kind === 'placedrivers' ? (namespace ?? 'default') : namespace,
    username,
    password,
    sessions,
    consistency,
    dc: text(options, 'dc'),
    tls: parseTls(options.tls),
    lazyConnect: flag(options, 'lazyConnect', false),
  };
}

function sourceOf({ placedrivers, datanodes }: ClientOptions): Settings['source'] {
  if ((placedrivers === undefined) === (datanodes === undefined)) {
    throw bad('give either placedrivers or datanodes: a list of host:port');
  }
  const name = placedrivers === undefined ? 'datanodes' : 'placedrivers';
  const given = placedrivers ?? datanodes;
  if (!Array.isArray(given) || given.length === 0) throw bad(`${name} must be a list of host:port`);
  if (name === 'placedrivers') return { kind: name, addresses: given.map(placedriverOf) };
  return { kind: name, addresses: given.map((one) => addressOf(one, name)) };
}

function placedriverOf(given: unknown): string {
  const [, scheme = '', address] = /^(https?:\/\/)(.*?)\/?$/i.exec(String(given)) ?? [];
  const own = hostPort(addressOf(address ?? given, 'placedrivers'));
  return /^https/i.test(scheme) ? `https://${own}` : own;
}

/**
 * `kvorum://host:port,host2:port2/namespace` names placedrivers, `redis://…` datanodes; both take
 * `user:password@`. `kvorums://` and `rediss://` are the same over TLS, placedrivers included.
 * Anything else is an option: `?timeoutMs=5000&sessions=false`.
 */
function optionsOfUrl(url: string): ClientOptions {
  const found =
    /^(kvorum|redis)(s?):\/\/(?:([^@/?#]*)@)?([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(url);
  if (!found) {
    throw bad(
      'a URL is kvorum://host:port[,host:port]/namespace for placedrivers, or ' +
        'redis://host:port[,host:port]/namespace for datanodes (kvorums:// and rediss:// over TLS)',
    );
  }
  const [, scheme, secure, user, hosts = '', namespace, query] = found;
  const [username, ...password] = (user ?? '').split(':').map(decoded);
  const options: Record<string, unknown> =
    scheme === 'redis'
      ? { datanodes: hosts.split(',') }
      : { placedrivers: hosts.split(',').map((host) => (secure ? `https://${host}` : host)) };
  if (secure) options['tls'] = true;
  if (namespace) options['namespace'] = decoded(namespace);
  if (username) options['username'] = username;
  if (password.length > 0) options['password'] = password.join(':');
  for (const [name, value] of new URLSearchParams(query ?? '')) {
    if (name === 'placedrivers' || name === 'datanodes') {
      throw bad(`${name} is no parameter of a URL`);
    }
    if (name === 'tls' && secure) throw bad(`${scheme}s:// speaks TLS already: leave tls away`);
    options[name] = texts.has(name) ? value : fromText(value);
  }
  return options as ClientOptions;
}

function fromText(value: string): unknown {
  if (value === 'true' || value === 'false') return value === 'true';
  return /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw bad(`${part} is not well encoded for a URL`);
  }
}

/** Throws BAD_OPTION. */
function addressOf(given: unknown, name: string): Address {
  const found =
    typeof given === 'string' ? /^(\[[^\]]+\]|[^:[\]\s]+):(\d{1,5})$/.exec(given) : null;
  const port = Number(found?.[2]);
  if (!found || port < 1 || port > 65_535) {
    throw bad(`${name}: ${JSON.stringify(given)} is not host:port (a port from 1 to 65535)`);
  }
  return { host: (found[1] ?? '').replace(/^\[|\]$/g, ''), port };
}

function text(options: ClientOptions, name: 'namespace' | 'username' | 'password' | 'dc') {
  const value: unknown = options[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw bad(`${name} must be a text that is not empty`);
}

function flag(options: ClientOptions, name: 'sessions' | 'lazyConnect', fallback: boolean) {
  const value: unknown = options[name] ?? fallback;
  if (typeof value === 'boolean') return value;
  throw bad(`${name} must be true or false`);
}

function number(options: ClientOptions, name: keyof typeof numbers, fallback: number): number {
  const value: unknown = options[name] ?? fallback;
  const lowest = name === 'replicaMaxStalenessMs' || name === 'maxQueued' ? 0 : 1;
  if (typeof value === 'number' && value >= lowest && value <= 2_147_483_647) {
    if (name.endsWith('Ms') || Number.isInteger(value)) return value;
  }
  const kind = name.endsWith('Ms') ? 'number of milliseconds' : 'whole number';
  throw bad(`${name} must be a ${kind} of at least ${lowest}`);
}

function list(found: Iterable<string>): string {
  return [...found].sort().join(', ');
}

function bad(text: string) {
  return ownError('BAD_OPTION', text);
}
