/** The three ways to a cluster, and what each says of a request that was not carried out. */
import { slotOfKey } from '../src/common/hash.ts';
import { Client, ClientError, ReplyError } from '../src/sdk/index.ts';
import type { Reply } from '../test/linearizability/keyspace.ts';
import type { Place } from '../test/linearizability/places.ts';
import { Lost, RespConnection } from './connection.ts';

export const doorKinds = ['sdk', 'gateway', 'cluster'] as const;
export type DoorKind = (typeof doorKinds)[number];

/** What a client is to do, in one step. */
export interface Request {
  readonly lines: readonly (readonly string[])[];
  readonly isTransaction?: boolean;
  /** The transaction is to take effect only if this key is as it was read behind the WATCH. */
  readonly watch?: string;
}

export type Outcome =
  | {
      readonly kind: 'ok';
      readonly reply: Reply;
      readonly watched?: string | null;
      /** In the log of its group; the SDK's calls share connections, and are told none. */
      readonly place?: Place;
    }
  /** It had no effect, and will have none. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string; readonly watched?: string | null };

export interface Door {
  readonly kind: DoorKind;
  send(request: Request): Promise<Outcome>;
  close(): void;
}

const SDK_MS = 12_000;
/** Replies to what was not proposed. */
const REFUSALS = new Set(['CLUSTERDOWN', 'TRYAGAIN', 'LOADING', 'EXECABORT', 'MOVED', 'ASK']);

function ofError(text: string): Outcome {
  const code = text.split(' ')[0] ?? '';
  return { kind: REFUSALS.has(code) ? 'refused' : 'unknown', why: text };
}

export class SdkDoor implements Door {
  readonly kind = 'sdk';
  readonly #client: Client;

  constructor(placedrivers: readonly string[]) {
    this.#client = new Client({ placedrivers, timeoutMs: SDK_MS });
    this.#client.on('error', () => {});
  }

  async send(request: Request): Promise<Outcome> {
    const seen: { text?: string | null } = {};
    try {
      return await this.#send(request, seen);
    } catch (failure) {
      const watched = seen.text === undefined ? {} : { watched: seen.text };
      if (failure instanceof ReplyError) return { ...ofError(failure.message), ...watched };
      const why = failure instanceof Error ? failure.message : String(failure);
      if (failure instanceof ClientError && failure.retriable) return { kind: 'refused', why };
      return { kind: 'unknown', why, ...watched };
    }
  }

  async #send(request: Request, seen: { text?: string | null }): Promise<Outcome> {
    const { lines, isTransaction, watch } = request;
    const client = this.#client;
    if (watch !== undefined) {
      const results = await client.watch(watch, async (tx) => {
        seen.text = (await tx.get(watch)) as string | null;
        const multi = tx.multi();
        for (const [name = '', ...args] of lines) multi.call(name, ...args);
        return multi;
      });
      if (results === undefined) return { kind: 'refused', why: 'given up' };
      return { kind: 'ok', reply: repliesOf(results), watched: seen.text ?? null };
    }
    if (isTransaction) {
      const multi = client.multi();
      for (const [name = '', ...args] of lines) multi.call(name, ...args);
      return { kind: 'ok', reply: repliesOf(await multi.exec()) };
    }
    const [name = '', ...args] = lines[0]!;
    return { kind: 'ok', reply: (await client.call(name, ...args)) as Reply };
  }

  close(): void {
    this.#client.disconnect();
  }
}

function repliesOf(results: readonly (readonly [Error | null, unknown])[]): Reply {
  return results.map(([error, reply]) => (error ? `-${error.message}` : (reply as Reply)));
}

/** Over one connection, to `address`; what is lost may have taken effect once it was sent. */
async function sendPlain(connection: RespConnection, request: Request): Promise<Outcome> {
  const { lines, isTransaction, watch } = request;
  let isSent = false;
  let watched: string | null | undefined;
  const askPlaced = async (words: readonly string[]) => {
    const { reply, place } = await connection.askPlaced(words);
    if (reply instanceof Error) throw new Refused(reply.message);
    return { reply, ...(place && { place }) };
  };
  const ask = async (...words: readonly string[]) => {
    const reply = await connection.ask(words);
    if (reply instanceof Error) throw new Refused(reply.message);
    return reply;
  };
  try {
    if (watch !== undefined) {
      await ask('WATCH', watch);
      // takes the place of the WATCH as well, so what is taken next is that of the EXEC
      watched = (await askPlaced(['GET', watch])).reply as string | null;
    }
    if (isTransaction) {
      await ask('MULTI');
      for (const line of lines) await ask(...line);
    }
    isSent = true;
    const told = await askPlaced(isTransaction ? ['EXEC'] : lines[0]!);
    if (isTransaction && told.reply === null)
      return { kind: 'refused', why: 'the watch is broken' };
    return { kind: 'ok', ...told, ...(watched !== undefined && { watched }) };
  } catch (failure) {
    // a connection in the middle of a transaction is of no use to the next request
    if (isTransaction) connection.close();
    if (!isSent) return { kind: 'refused', why: String(failure) };
    if (failure instanceof Refused) {
      return { ...ofError(failure.message), ...(watched !== undefined && { watched }) };
    }
    if (failure instanceof Lost && !failure.isSent)
      return { kind: 'refused', why: failure.message };
    return { kind: 'unknown', why: String(failure), ...(watched !== undefined && { watched }) };
  }
}

class Refused extends Error {}

/** Stays with one node until that fails it, then goes to the next. */
export class GatewayDoor implements Door {
  readonly kind = 'gateway';
  readonly #addresses: readonly string[];
  #at: number;
  #connection: RespConnection | undefined;

  constructor(addresses: readonly string[], at: number) {
    this.#addresses = addresses;
    this.#at = at;
  }

  async send(request: Request): Promise<Outcome> {
    if (this.#connection === undefined || this.#connection.isClosed) {
      this.#connection = new RespConnection(this.#addresses[this.#at++ % this.#addresses.length]!);
    }
    const outcome = await sendPlain(this.#connection, request);
    if (outcome.kind !== 'ok') this.close();
    return outcome;
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}

const REDIRECTIONS_MAX = 5;

/** Goes where MOVED says, and remembers it by slot, as clients of Redis Cluster do. */
export class ClusterDoor implements Door {
  readonly kind = 'cluster';
  readonly #addresses: readonly string[];
  readonly #leaders = new Map<number, string>();
  readonly #connections = new Map<string, RespConnection>();
  #at: number;

  constructor(addresses: readonly string[], at: number) {
    this.#addresses = addresses;
    this.#at = at;
  }

  async send(request: Request): Promise<Outcome> {
    const key = request.watch ?? request.lines[0]![1]!;
    const slot = slotOfKey(Buffer.from(key));
    let outcome: Outcome = { kind: 'refused', why: 'not sent' };
    for (let tried = 0; tried < REDIRECTIONS_MAX; tried++) {
      const address = this.#leaders.get(slot) ?? this.#next();
      outcome = await sendPlain(this.#to(address), request);
      const [, told] = /MOVED \d+ (\S+)/.exec(outcome.kind === 'refused' ? outcome.why : '') ?? [];
      if (told === undefined) break;
      this.#leaders.set(slot, told);
    }
    if (outcome.kind !== 'ok') this.#leaders.delete(slot);
    return outcome;
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  #next(): string {
    return this.#addresses[this.#at++ % this.#addresses.length]!;
  }

  #to(address: string): RespConnection {
    let connection = this.#connections.get(address);
    if (connection === undefined || connection.isClosed) {
      connection = new RespConnection(address);
      this.#connections.set(address, connection);
    }
    return connection;
  }
}
