/** Where an import goes: the namespaces of a cluster, each through a client of its own. */
import { KvorumError } from '../../common/errors.ts';
import { Client } from '../../sdk/client.ts';
import { ClientError } from '../../sdk/errors.ts';
import type { ClientOptions } from '../../sdk/options.ts';
import { fetchGet } from '../../sdk/placedriver-source.ts';
import type { ClientWorld } from '../../sdk/world.ts';
import { type Place, placedrivers } from '../admin/api.ts';
import { type ClientTlsFlags, clientTls } from '../client-tls.ts';
import { isHopeless } from '../hopeless.ts';
import { Waiting } from './waiting.ts';

export interface TargetFlags extends ClientTlsFlags {
  readonly url?: readonly string[];
  readonly data?: string;
  /** `redis[s]://[user:password@]host:port`: gateway ports instead of a placedriver. */
  readonly to?: string;
  readonly username?: string;
  readonly password?: string;
}

/** Commands wait for a new leader, or for a cluster that is started again. */
const TIMEOUT_MS = 600_000;
/** Of a placedriver, to answer. */
const GET_MS = 3_000;

export class Target {
  readonly #options: ClientOptions;
  readonly #world: Partial<ClientWorld>;
  readonly #clients = new Map<string, Promise<Client>>();
  /** Those that connect yet included. */
  readonly #open = new Set<Client>();
  readonly #say: (line: string) => void;
  #isGivenUp = false;

  /** `say`: is told, from time to time, why nothing goes on yet; standard error when absent. */
  constructor(flags: TargetFlags, say = onStandardError) {
    this.#say = say;
    const { options, world = {} } = placeOf(flags);
    this.#options = { ...options, timeoutMs: TIMEOUT_MS };
    this.#world = world;
  }

  /** Whether a write whose reply is lost is asked for again, and takes effect once. */
  get hasSessions(): boolean {
    return this.#options.placedrivers !== undefined;
  }

  /** The same one each time; rejects when there is no such namespace. */
  client(namespace: string): Promise<Client> {
    let client = this.#clients.get(namespace);
    if (client === undefined) {
      client = this.#connect(namespace);
      this.#clients.set(namespace, client);
    }
    return client;
  }

  /** Of all namespaces that were asked for. */
  async clients(): Promise<readonly Client[]> {
    const clients = await Promise.allSettled(this.#clients.values());
    return clients.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }

  /**
   * Does `work`, and closes. When it fails, what others of it have under way is given up: some of that may
   * wait for minutes for a partition that nobody leads, and nobody would be told of the failure meanwhile.
   */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    let result: Result;
    try {
      result = await work();
    } catch (failure) {
      this.giveUp();
      throw failure;
    }
    await Promise.all([...this.#open].map((client) => client.close()));
    return result;
  }

  /** Ends at once, and for good. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const client of this.#open) client.disconnect();
  }

  /** At datanodes that are named lookups tell of their connections as well. */
  async #enter(client: Client): Promise<void> {
    const entered = new AbortController();
    const waiting = new Waiting(client, this.#say);
    const hopeless = hopelessness(client, this.hasSessions, entered.signal);
    // the first command says whether the namespace is there, and lets this user in
    const tried = client.connect().then(() => client.exists('kvorum'));
    tried.catch(() => {});
    try {
      await Promise.race([hopeless, tried]);
    } catch (failure) {
      const isRefused = failure instanceof ClientError && isHopeless(failure.message);
      throw isRefused ? notLetIn(failure) : failure;
    } finally {
      waiting.end();
      entered.abort();
    }
  }

  async #connect(namespace: string): Promise<Client> {
    if (this.#isGivenUp) throw new KvorumError('STOPPING', 'what failed before has ended it');
    const client = new Client({ ...this.#options, namespace }, this.#world);
    this.#open.add(client);
    try {
      await this.#enter(client);
      return client;
    } catch (failure) {
      client.disconnect();
      this.#open.delete(client);
      if (failure instanceof KvorumError) throw failure;
      const why = failure instanceof Error ? failure.message : String(failure);
      throw new KvorumError(
        'STORE_UNAVAILABLE',
        `the namespace ${namespace} cannot be written to: ${why} (make it with kvorum namespaces ` +
          `create ${namespace}, or name another with --namespace)`,
        { cause: failure },
      );
    }
  }
}

function onStandardError(line: string): void {
  process.stderr.write(`kvorum: ${line}\n`);
}

/** So often in a row, for a node may just be learning of a user. */
const HOPELESS_TIMES = 2;

/** Rejects when what the client meets over and over no waiting mends. */
function hopelessness(client: Client, hearsConnections: boolean, signal: AbortSignal) {
  return new Promise<never>((_, reject) => {
    let times = 0;
    const hear = (error: Error) => {
      const isOfLookup = error instanceof ClientError;
      if (!isOfLookup && !hearsConnections) return;
      times = isHopeless(error.message) ? times + 1 : 0;
      if (times === HOPELESS_TIMES) reject(notLetIn(error));
    };
    client.on('error', hear);
    signal.addEventListener('abort', () => client.off('error', hear), { once: true });
  });
}

function notLetIn(cause: Error): KvorumError {
  const text = `the cluster does not let this client in: ${cause.message}`;
  return new KvorumError('BAD_ARGUMENT', text, { cause });
}

interface Way {
  readonly options: ClientOptions;
  readonly world?: Partial<ClientWorld>;
}

function placeOf(flags: TargetFlags): Way {
  const { to, url, data, ca, username } = flags;
  const password = flags.password ?? process.env['KVORUM_PASSWORD'];
  const user = { username, password };
  if (to === undefined) {
    const places = placedrivers({ ...(url && { url }), ...(data && { data }), ...(ca && { ca }) });
    const authorities = places[0]?.authorities;
    const tls = clientTls(flags, false, authorities);
    const options = { placedrivers: places.map(addressOf), tls, ...user };
    // HTTP may speak TLS where the ports of clients do not
    return { options, world: { get: fetchGet(GET_MS, tls ?? { ca: authorities }) } };
  }
  const address = redisAddress(to, '--to');
  const named = { username: address.username ?? username, password: address.password ?? password };
  return { options: { datanodes: address.hosts, tls: clientTls(flags, address.tls), ...named } };
}

/** The port too where it is the scheme's own. */
function addressOf({ url }: Place): string {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === 'https:';
  return `${isSecure ? 'https://' : ''}${hostname}:${port || (isSecure ? 443 : 80)}`;
}

export interface RedisAddress {
  readonly hosts: readonly string[];
  /** `rediss://` */
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Throws BAD_ARGUMENT. */
export function redisAddress(text: string, flag: string): RedisAddress {
  const found = /^redis(s?):\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?#]+:\d{1,5})\/?$/.exec(text);
  if (found === null) {
    throw new KvorumError('BAD_ARGUMENT', `${flag}: write redis[s]://[user:password@]host:port`);
  }
  const [, secure, username, password, hosts = ''] = found;
  return {
    hosts: hosts.split(','),
    tls: secure === 's',
    username: username ? decodeURIComponent(username) : undefined,
    password: password === undefined ? undefined : decodeURIComponent(password),
  };
}
