/**
 * A watch that never misses: the list, then every change after it; a broken stream goes on where it
 * was, as does one whose member has fallen behind, and a compacted history begins anew with a list.
 * So does one whose listener has failed at what it was told: it is told again, not left without.
 * From a store that is not the one this client has known it takes nothing, and asks until the right
 * one is back.
 */
import type { IDuplexStream, IEvent, IWatchRequest, IWatchResponse } from 'etcd3';
import { sleep } from '../common/clock.ts';
import { messageOf } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import { type EtcdConnection, endOf, itemOf } from './etcd-connection.ts';
import type { MetaEvent, MetaItem, Watch, WatchHandlers } from './store.ts';
import { WatchProbe } from './watch-probe.ts';

type WatchStream = IDuplexStream<IWatchRequest, IWatchResponse>;
type List = () => Promise<{ items: readonly MetaItem[]; revision: Revision }>;

const BACKOFF_MIN_MS = 50;
const BACKOFF_MAX_MS = 1_000;

export class EtcdWatch implements Watch {
  readonly #connection: EtcdConnection;
  readonly #prefix: string;
  readonly #list: List;
  readonly #handlers: WatchHandlers;
  readonly #stop = new AbortController();
  /** Everything up to this revision has been told; undefined: a list is due. */
  #seen: Revision | undefined;
  #stream: WatchStream | undefined;
  #backoffMs = BACKOFF_MIN_MS;

  constructor(connection: EtcdConnection, prefix: string, list: List, handlers: WatchHandlers) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#list = list;
    this.#handlers = handlers;
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
    if (this.#stream !== undefined) drop(this.#stream);
    this.#stream = undefined;
  }

  async #run(): Promise<void> {
    const { clock, random, logger } = this.#connection;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#connection.verify();
        if (this.#seen === undefined) await this.#relist();
        if (!signal.aborted) await this.#follow();
      } catch (failure) {
        if (signal.aborted) return;
        logger.debug('watch interrupted', { prefix: this.#prefix, error: messageOf(failure) });
      }
      const delayMs = this.#backoffMs * (0.5 + random.float());
      this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
      await sleep(clock, delayMs, signal).catch(() => {});
    }
  }

  async #relist(): Promise<void> {
    const { items, revision } = await this.#list();
    if (this.#stop.signal.aborted) return;
    this.#seen = revision;
    this.#tell(() => this.#handlers.onList(items, revision));
  }

  /** What a handler has failed at would never be told again: it is told all anew. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (failure) {
      this.#seen = undefined;
      const text = 'what the metadata store told could not be taken; it is read anew';
      this.#connection.logger.error(text, { prefix: this.#prefix, error: messageOf(failure) });
      throw failure;
    }
  }

  /** Resolves or rejects when the stream has ended, for whatever reason. */
  async #follow(): Promise<void> {
    const stream = await this.#connection.client.watchClient.watch();
    if (this.#stop.signal.aborted) {
      drop(stream);
      return;
    }
    this.#stream = stream;
    const ended = new AbortController();
    const stopped = () => ended.abort();
    this.#stop.signal.addEventListener('abort', stopped, { once: true });
    try {
      await this.#listen(stream, ended.signal);
    } finally {
      ended.abort();
      this.#stop.signal.removeEventListener('abort', stopped);
      if (this.#stream === stream) this.#stream = undefined;
      drop(stream);
    }
  }

  /** Asks for what comes after what was seen, and tells it until the stream ends, or nobody listens. */
  #listen(stream: WatchStream, ended: AbortSignal): Promise<void> {
    const probe = new WatchProbe(this.#connection);
    return new Promise((resolve, reject) => {
      stream.on('error', reject);
      stream.on('end', () => resolve());
      stream.on('data', (response: IWatchResponse) => {
        try {
          probe.heard(Number(response.header.revision));
          // a member that lags, or a store that went back: a linearizable read tells
          if (this.#connection.admit(response.header)) this.#connection.verify().catch(reject);
          if (!this.#onResponse(response)) resolve();
        } catch (failure) {
          reject(failure);
        }
      });
      ended.addEventListener('abort', () => resolve(), { once: true });
      stream.write({
        create_request: {
          key: Buffer.from(this.#prefix),
          range_end: endOf(this.#prefix),
          start_revision: this.#seen! + 1,
        },
      });
      const ask = () => stream.write({ progress_request: {} });
      probe.untilBehind(ask, ended).then(
        () => reject(new Error('its member tells nothing new; another may')),
        () => {},
      );
    });
  }

  /** False: the store has cancelled the watch. */
  #onResponse(response: IWatchResponse): boolean {
    if (this.#stop.signal.aborted) return false;
    if (response.canceled) {
      if (Number(response.compact_revision) > 0) this.#seen = undefined;
      return false;
    }
    this.#backoffMs = BACKOFF_MIN_MS;
    const fresh = response.events.filter(({ kv }) => Number(kv.mod_revision) > this.#seen!);
    if (fresh.length === 0) return true;
    const revision = Number(fresh.at(-1)!.kv.mod_revision);
    this.#seen = revision;
    this.#tell(() => this.#handlers.onEvents(fresh.map(eventOf), revision));
    return true;
  }
}

/** An etcd goes on telling changes to a client that has only ended its own side. */
function drop(stream: WatchStream): void {
  stream.on('error', () => {});
  stream.cancel();
}

function eventOf({ type, kv }: IEvent): MetaEvent {
  return type === 'Put' || (type as string) === 'PUT'
    ? { type: 'put', item: itemOf(kv) }
    : { type: 'delete', key: kv.key.toString(), modRevision: Number(kv.mod_revision) };
}
