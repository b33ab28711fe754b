/**
 * The connection that all parts of the etcd adapter share. Every call has a deadline, and every
 * answer is judged: it must come from the store this client has known (`lineage.ts`).
 */
import { noop } from 'cockatiel';
import { Etcd3, type IKeyValue } from 'etcd3';
import type { Clock, Timer } from '../common/clock.ts';
import type { StoreAuth, StoreCredentials } from '../common/config-meta.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import { MemberChoice, wasNotSent } from './etcd-members.ts';
import { nameNoAddresses } from './etcd-server-name.ts';
import { type AnswerHeader, Lineage, replacedText } from './lineage.ts';
import { keys } from './schema.ts';
import type { MetaItem } from './store.ts';

export interface EtcdOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** `http://host:port` of each member. */
  readonly urls: readonly string[];
  /**
   * For https, looked at for each call: they may be replaced. Without authorities those that Node.js
   * believes are.
   */
  readonly credentials?: { readonly current: Partial<StoreCredentials> } | undefined;
  readonly auth?: StoreAuth;
  /** Of one call; default 3,000. */
  readonly timeoutMs?: number;
  /** How often a watch looks whether its member still hears of changes; default 10,000. */
  readonly watchProbeMs?: number;
}

type Ask<T> = (options: { readonly deadline: number }) => Promise<T>;

const CALL_TIMEOUT_MS = 3_000;
const WATCH_PROBE_MS = 10_000;

export class EtcdConnection {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly watchProbeMs: number;
  readonly #timeoutMs: number;
  readonly #where: string;
  readonly #members: number;
  readonly #options: EtcdOptions;
  readonly #choice: MemberChoice;
  #client: Etcd3;
  /** What it shows. */
  #shown: Partial<StoreCredentials> | undefined;
  /** Clients of before, until their calls are over, and when that is. */
  readonly #former = new Map<Etcd3, Timer>();
  readonly #lineage = new Lineage();
  /** False: the next call looks first whether this is the right store. */
  #trusted = true;
  #refused: string | undefined;
  #closed = false;

  constructor(options: EtcdOptions) {
    const { clock, random, logger, urls, timeoutMs = CALL_TIMEOUT_MS } = options;
    this.clock = clock;
    this.random = random;
    this.logger = logger;
    this.watchProbeMs = options.watchProbeMs ?? WATCH_PROBE_MS;
    this.#timeoutMs = timeoutMs;
    this.#where = urls.join(', ');
    this.#members = urls.length;
    this.#options = options;
    this.#choice = new MemberChoice(clock);
    this.#shown = options.credentials?.current;
    this.#client = this.#newClient();
  }

  /** For one call, or one stream: the next may be of another client, since files were renewed. */
  get client(): Etcd3 {
    const now = this.#options.credentials?.current;
    if (now !== this.#shown && !this.#closed) {
      this.#shown = now;
      this.#replaceClient();
    }
    return this.#client;
  }

  /** See MetaStore.identity. */
  identity(): string | undefined {
    return this.#lineage.etcdId;
  }

  /** The highest that any answer has told. */
  get revision(): Revision {
    return this.#lineage.revision;
  }

  /** See MetaStore.bind. */
  bind(clusterId: string): void {
    this.#lineage.bind(clusterId);
    this.#trusted = false;
  }

  /**
   * Runs a call under the deadline; its failures become STORE_UNAVAILABLE, STORE_LIMIT or
   * LEASE_LOST, and an answer of another store STORE_REPLACED.
   */
  async call<T extends { readonly header: AnswerHeader }>(what: string, ask: Ask<T>): Promise<T> {
    if (!this.#trusted) await this.verify();
    return this.#ask(what, ask);
  }

  /**
   * Looks whether this is the right store; throws STORE_REPLACED when it is not. Each lease and each
   * opened watch begins with this: a store that was made anew may have overtaken the revisions of
   * the old one, and then only the cluster's record tells them apart.
   */
  async verify(): Promise<void> {
    const { kvs } = await this.#ask('look at the cluster', (options) =>
      this.client.kv.range({ key: Buffer.from(keys.cluster) }, options),
    );
    const why = this.#lineage.judgeCluster(kvs[0] && itemOf(kvs[0]));
    if (why !== undefined) this.#refuse(why);
    this.#trusted = true;
    if (this.#refused === undefined) return;
    this.#refused = undefined;
    this.logger.info('the metadata store is the right one again', { at: this.#where });
  }

  /** An answer on a stream. True: it is behind what was seen, so `verify` must decide. */
  admit(header: AnswerHeader): boolean {
    const behind = Number(header.revision) < this.#lineage.revision;
    const why = this.#lineage.judge(header, 0);
    if (why !== undefined) this.#refuse(why);
    return behind;
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#former.values()) timer.cancel();
    for (const client of [...this.#former.keys(), this.#client]) client.close();
    this.#former.clear();
  }

  #newClient(): Etcd3 {
    // Retrying is our callers' policy alone: the client's own is off.
    const client = new Etcd3({
      hosts: [...this.#options.urls],
      ...accessOf(this.#shown, this.#options.auth),
      faultHandling: { global: noop, host: (member) => this.#choice.policyOf(member) },
      grpcOptions: {
        'grpc.max_receive_message_length': -1,
        'grpc.keepalive_time_ms': 10_000,
        'grpc.keepalive_timeout_ms': 3_000,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 1_000,
      },
    });
    nameNoAddresses(client);
    return client;
  }

  /** The channels of a client keep what they were made with; streams that stand outlive theirs. */
  #replaceClient(): void {
    const former = this.#client;
    this.#client = this.#newClient();
    // calls are made again at most once, and through the client they began with
    const timer = this.clock.setTimer(2 * this.#timeoutMs, () => {
      this.#former.delete(former);
      former.close();
    });
    this.#former.set(former, timer);
  }

  async #ask<T extends { readonly header: AnswerHeader }>(what: string, ask: Ask<T>): Promise<T> {
    if (this.#closed) throw new KvorumError('STOPPING', 'the metadata client is closed');
    const floor = this.#lineage.revision;
    const answer = await this.#askAny(what, ask);
    const why = this.#lineage.judge(answer.header, floor);
    if (why !== undefined) this.#refuse(why);
    return answer;
  }

  /**
   * Another member when a call was not sent to one, as long as there are others; the only one is asked
   * once more, over a new channel. All of it within one deadline.
   */
  async #askAny<T>(what: string, ask: Ask<T>): Promise<T> {
    const deadline = this.clock.wallMs() + this.#timeoutMs;
    for (let left = Math.max(this.#members - 1, 1); ; left--) {
      try {
        return await ask({ deadline });
      } catch (cause) {
        if (left <= 0 || !wasNotSent(messageOf(cause))) throw this.#failure(what, cause);
      }
    }
  }

  /** Said once in the log, thrown each time. */
  #refuse(why: string): never {
    const text = replacedText(this.#where, why);
    if (this.#refused !== why) this.logger.error(text);
    this.#refused = why;
    this.#trusted = false;
    throw new KvorumError('STORE_REPLACED', text);
  }

  #failure(what: string, cause: unknown): KvorumError {
    const problem = messageOf(cause);
    if (/lease not found/i.test(problem)) {
      return new KvorumError('LEASE_LOST', `${what}: the lease has ended`, { cause });
    }
    const known = advice.find(({ pattern }) => pattern.test(problem)) ?? unreachable;
    const remedy = known.text === undefined ? '' : `; ${known.text}`;
    const text = `metadata store at ${this.#where}: ${what}: ${problem}${remedy}`;
    return new KvorumError(known.code, text, { cause });
  }
}

const unreachable = {
  code: 'STORE_UNAVAILABLE',
  text: 'is a placedriver (or etcd) running there?',
} as const;

/** What to do about a refusal of the store's; the embedded one says that itself. */
const advice = [
  {
    code: 'STORE_UNAVAILABLE',
    pattern: /too many metadata|metadata store in|metadata store is stopping/,
    text: undefined,
  },
  {
    code: 'STORE_UNAVAILABLE',
    pattern: /space exceeded/i,
    text:
      'the store is full: remove what is not under /kvorum/, compact and defragment it and ' +
      'disarm its alarm (etcdctl compact, defrag, alarm disarm), or raise --quota-backend-bytes',
  },
  {
    code: 'STORE_LIMIT',
    pattern: /request is too large|larger than max/i,
    text: 'start etcd with --max-request-bytes 1572864 (its default) or more',
  },
  {
    code: 'STORE_LIMIT',
    pattern: /too many operations/i,
    text: 'start etcd with --max-txn-ops 128 (its default) or more',
  },
  {
    code: 'STORE_UNAVAILABLE',
    pattern: /etcdserver: /,
    text: 'the store is there: its log, and those of its other members, say more',
  },
] as const;

export function itemOf({ key, value, create_revision, mod_revision }: IKeyValue): MetaItem {
  return {
    key: key.toString(),
    value: value.toString(),
    createRevision: Number(create_revision),
    modRevision: Number(mod_revision),
  };
}

/** As etcd3 takes it. */
function accessOf(shown: Partial<StoreCredentials> | undefined, auth: StoreAuth | undefined) {
  const bytes = (pem: string | undefined) => (pem === undefined ? undefined : Buffer.from(pem));
  const { authorities, certificate, key } = shown ?? {};
  // gRPC takes none of these for those that Node.js believes; etcd3's types do not say so
  const rootCertificate = bytes(authorities) as Buffer;
  const pair = certificate !== undefined &&
    key !== undefined && { certChain: Buffer.from(certificate), privateKey: Buffer.from(key) };
  return {
    ...(shown && { credentials: { rootCertificate, ...pair } }),
    ...(auth && { auth: { username: auth.user, password: auth.password } }),
  };
}

/** The first key after all that begin with `prefix`; prefixes here end in plain ASCII. */
export function endOf(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1]! += 1;
  return end;
}
