/**
 * Clients whose requests are due at times of their own, so that a server that stands still is charged
 * for everybody who would have waited (no coordinated omission); or closed-loop clients. Keys are
 * drawn evenly or unevenly.
 */
import { RespClient, request } from './resp-client.ts';
import type { TimedLoad } from './timed-load-words.ts';
import { zipf } from './zipf.ts';

interface Place {
  readonly client: RespClient;
  /** In front of every key: keys of the node that the client talks to. */
  readonly prefix: string;
}

/** What is due is looked at this often: latencies are long by up to as much. */
const LOOK_MS = 1;
/** Requests not answered beyond which the rate is not kept up: the load ends with an error. */
const WAITING_MAX = 200_000;
const TAGS_TRIED = 100_000;

export async function openPlaces(load: TimedLoad): Promise<Place[]> {
  const nodes = load.cluster ? await nodesOf(load.port) : [{ port: load.port, prefix: 'key:' }];
  return Promise.all(
    Array.from({ length: load.clients }, async (_, at) => {
      const { port, prefix } = nodes[at % nodes.length]!;
      return { client: await RespClient.open('127.0.0.1', port), prefix };
    }),
  );
}

/** Every master with a hash tag of one of its slots. */
async function nodesOf(port: number): Promise<{ port: number; prefix: string }[]> {
  const client = await RespClient.open('127.0.0.1', port);
  const slots = (await client.ask('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  const prefixes = new Map<number, string>();
  const ports = new Set(slots.map(([, , [, master]]) => master));
  for (let tag = 0; prefixes.size < ports.size && tag < TAGS_TRIED; tag++) {
    const slot = (await client.ask('CLUSTER', 'KEYSLOT', `t${tag}`)) as number;
    const found = slots.find(([first, last]) => first <= slot && slot <= last);
    if (found && !prefixes.has(found[2][1])) prefixes.set(found[2][1], `key:{t${tag}}:`);
  }
  client.close();
  return [...prefixes].map(([master, prefix]) => ({ port: master, prefix }));
}

export class TimedClients {
  readonly #load: TimedLoad;
  readonly #places: readonly Place[];
  readonly #value: string;
  readonly #drawZipf: (uniform: number) => number;
  latencies: number[] = [];
  failure: Error | undefined;
  #waiting = 0;
  #at = 0;

  constructor(load: TimedLoad, places: readonly Place[]) {
    this.#load = load;
    this.#places = places;
    this.#value = 'x'.repeat(load.valueBytes);
    this.#drawZipf = zipf(load.keySpace);
  }

  /** Resolves when all that was sent is answered. */
  async run(seconds: number): Promise<void> {
    const began = performance.now();
    const endMs = began + seconds * 1_000;
    if (this.#load.perSecond === 0) await this.#closed(endMs);
    else await this.#open(began, endMs);
    if (this.failure) throw this.failure;
  }

  #closed(endMs: number): Promise<unknown> {
    const goOn = (place: Place, end: () => void): void => {
      const now = performance.now();
      if (now >= endMs || this.failure) return end();
      this.#send(place, now, () => goOn(place, end));
    };
    return Promise.all(
      this.#places.map((place) => new Promise<void>((resolve) => goOn(place, resolve))),
    );
  }

  #open(began: number, endMs: number): Promise<void> {
    const { perSecond } = this.#load;
    const all = Math.round(((endMs - began) / 1_000) * perSecond);
    let sent = 0;
    return new Promise((resolve) => {
      const look = () => {
        const now = Math.min(performance.now(), endMs);
        const share = (now - began) / (endMs - began);
        const due = now >= endMs ? all : Math.floor(share * all);
        for (; sent < due; sent++) this.#send(this.#next(), began + (sent / perSecond) * 1_000);
        if (this.#waiting > WAITING_MAX) this.failure ??= new Error('it does not keep up');
        if (this.failure || (now >= endMs && this.#waiting === 0)) resolve();
        else setTimeout(look, LOOK_MS);
      };
      look();
    });
  }

  #next(): Place {
    return this.#places[this.#at++ % this.#places.length]!;
  }

  #send({ client, prefix }: Place, dueMs: number, answered: () => void = () => {}): void {
    this.#waiting++;
    client.send(this.#request(prefix), (failure) => {
      this.#waiting--;
      this.failure ??= failure;
      this.latencies.push(performance.now() - dueMs);
      answered();
    });
  }

  #request(prefix: string): string {
    const { draw, keySpace, getShare } = this.#load;
    const uniform = Math.random();
    const number = draw === 'zipf' ? this.#drawZipf(uniform) : Math.floor(uniform * keySpace);
    const key = prefix + String(number).padStart(12, '0');
    if (Math.random() < getShare) return request('GET', key);
    return request('SET', key, this.#value);
  }
}
