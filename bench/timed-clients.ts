/**
 * Clients whose requests are due at times of their own, so that a server that stands still is charged
 * for everybody who would have waited (no coordinated omission); or closed-loop clients. Keys are
 * drawn evenly or unevenly.
 */
import { slotOfKey } from '../src/common/hash.ts';
import { MovedKeys } from './moved-keys.ts';
import { RespClient, request } from './resp-client.ts';
import { slotPorts } from './slot-ports.ts';
import type { TimedLoad } from './timed-load-words.ts';
import { zipf } from './zipf.ts';

interface Place {
  readonly client: RespClient;
  /** In front of every key, one of these: keys of the node that the client talks to. */
  readonly prefixes: readonly string[];
}

/** Told when a request is answered, or why it is not. */
type Done = (failure: Error | undefined, reply?: unknown) => void;

/** What is due is looked at this often: latencies are long by up to as much. */
const LOOK_MS = 1;
/** Requests not answered beyond which the rate is not kept up: the load ends with an error. */
const WAITING_MAX = 200_000;
const TAGS_TRIED = 100_000;
/** A request that is sent on more often than this goes round in a circle. */
const MOVES_MAX = 16;

export async function openPlaces(load: TimedLoad): Promise<Place[]> {
  const nodes = load.cluster ? await nodesOf(load) : [{ port: load.port, prefixes: ['key:'] }];
  return Promise.all(
    Array.from({ length: load.clients }, async (_, at) => {
      const { port, prefixes } = nodes[at % nodes.length]!;
      return { client: await RespClient.open('127.0.0.1', port), prefixes };
    }),
  );
}

/** Every master with the hash tags of its slots that are asked for, or else with one. */
async function nodesOf({ port, tags }: TimedLoad) {
  const ports = await slotPorts(port);
  const masters = new Set(ports);
  const prefixes = new Map<number, string[]>();
  const add = (tag: string, onlyFirst: boolean) => {
    const master = ports[slotOfKey(Buffer.from(tag))]!;
    const own = prefixes.get(master) ?? [];
    if (own.length === 0 || !onlyFirst) prefixes.set(master, [...own, `key:{${tag}}:`]);
  };
  if (tags === undefined) {
    for (let at = 0; prefixes.size < masters.size && at < TAGS_TRIED; at++) add(`t${at}`, true);
  } else {
    for (const tag of tags) add(tag, false);
  }
  return [...prefixes].map(([master, own]) => ({ port: master, prefixes: own }));
}

export class TimedClients {
  readonly #load: TimedLoad;
  readonly #places: readonly Place[];
  readonly #value: string;
  readonly #drawZipf: (uniform: number) => number;
  /** Leaders may change under load: it goes on at the new ones. */
  readonly #moved = new MovedKeys();
  latencies: number[] = [];
  failure: Error | undefined;
  #waiting = 0;
  #at = 0;
  #gets = 0;
  #found = 0;

  constructor(load: TimedLoad, places: readonly Place[]) {
    this.#load = load;
    this.#places = places;
    this.#value = 'x'.repeat(load.valueBytes);
    this.#drawZipf = zipf(load.keySpace);
  }

  /** What was measured so far does not count. */
  forget(): void {
    this.latencies = [];
    this.#gets = 0;
    this.#found = 0;
  }

  /** Of the GETs that were answered; undefined when none was. */
  get foundShare(): number | undefined {
    return this.#gets === 0 ? undefined : this.#found / this.#gets;
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

  close(): void {
    this.#moved.close();
    for (const { client } of this.#places) client.close();
  }

  #send({ client, prefixes }: Place, dueMs: number, answered: () => void = () => {}): void {
    this.#waiting++;
    const prefix = prefixes[Math.floor(Math.random() * prefixes.length)]!;
    const isGet = Math.random() < this.#load.getShare;
    const bytes = this.#request(prefix, isGet);
    const done: Done = (failure, reply) => {
      if (isGet) this.#gets++;
      if (isGet && reply !== null) this.#found++;
      this.#waiting--;
      this.failure ??= failure;
      this.latencies.push(performance.now() - dueMs);
      answered();
    };
    const home = this.#moved.homeOf(prefix);
    if (home === undefined) client.send(bytes, this.#orSentOn(prefix, bytes, done, MOVES_MAX));
    else this.#sendTo(home, prefix, bytes, done, MOVES_MAX);
  }

  #sendTo(home: Promise<RespClient>, prefix: string, bytes: string, done: Done, moves: number) {
    home.then((client) => client.send(bytes, this.#orSentOn(prefix, bytes, done, moves)), done);
  }

  #orSentOn(prefix: string, bytes: string, done: Done, moves: number): Done {
    return (failure, reply) => {
      if (failure === undefined || moves === 0 || !this.#moved.follow(prefix, failure)) {
        return done(failure, reply);
      }
      this.#sendTo(this.#moved.homeOf(prefix)!, prefix, bytes, done, moves - 1);
    };
  }

  #request(prefix: string, isGet: boolean): string {
    const { draw, keySpace } = this.#load;
    const uniform = Math.random();
    const number = draw === 'zipf' ? this.#drawZipf(uniform) : Math.floor(uniform * keySpace);
    const key = prefix + String(number).padStart(12, '0');
    if (isGet) return request('GET', key);
    return request('SET', key, this.#value);
  }
}
