/**
 * The table from the placedrivers' HTTP API. `GET /query/:namespace?epoch=` costs nothing while
 * nothing has changed; when something has, the slots and ports are read from `/v1`. All placedrivers
 * answer from what they watch: the one that answered last is asked first, and one that is cut off
 * from the metadata store, and says so, counts only when no other answers.
 */
import type { Clock } from '../common/clock.ts';
import { eitherSignal } from '../common/either-signal.ts';
import { messageOf } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import { ask } from '../common/tls/ask.ts';
import { ownError } from './errors.ts';
import type { TableContent, TableNode, TablePartition, TableSource } from './table.ts';
import { nodeTls, type TlsOptions } from './tls-options.ts';

/** An HTTP answer as the source needs it. */
export interface HttpAnswer {
  readonly status: number;
  /** By its name in small letters; undefined: it has none. */
  header(name: string): string | undefined;
  json(): Promise<unknown>;
}

/** GET; rejects when nobody answers in time, or when `signal` ends it. */
export type HttpGet = (url: string, signal: AbortSignal) => Promise<HttpAnswer>;

/** Of Node.js; connections are kept for the next request. `tls`: of `https://`. */
export function fetchGet(timeoutMs: number, tls: TlsOptions = {}): HttpGet {
  return async (url, signal) => {
    // it takes no fractions
    const until = eitherSignal(signal, AbortSignal.timeout(Math.ceil(timeoutMs)));
    try {
      const { status, header, text } = await ask(url, { signal: until.signal, tls: nodeTls(tls) });
      return { status, header, json: async () => JSON.parse(text) as unknown };
    } finally {
      until.release();
    }
  };
}

/** What one placedriver told. */
interface Told {
  /** Undefined: nothing has changed. */
  readonly content: TableContent | undefined;
  /** It does not hear of changes at present. */
  readonly stale: boolean;
}

const STALE_HEADER = 'kvorum-stale-ms';
/** So many in a row without any but older epochs: the cluster was made anew, or its store restored. */
const OLDER_LOOKUPS = 10;
/** For so many lookups one that did not answer, or may know only what is old, is asked last. */
const SITS_OUT_LOOKUPS = 20;

export class PlacedriverSource implements TableSource {
  /** The one that answered last comes first. */
  readonly #bases: string[];
  /** Until which lookup, counted from the first. */
  readonly #sitsOut = new Map<string, number>();
  #lookups = 0;
  readonly #namespace: string;
  readonly #get: HttpGet;
  readonly #clock: Clock;
  /** Epochs are the same at every placedriver, but one may lag: an older table is not taken. */
  #epoch = 0;
  /** Lookups in a row in which all that answered told an older one. */
  #olderLookups = 0;
  #toldOlder = false;

  /** `addresses`: of each placedriver's HTTP API `host:port`, or `https://host:port`. */
  constructor(addresses: readonly string[], namespace: string, get: HttpGet, clock: Clock) {
    this.#bases = addresses.map((one) => (one.startsWith('https://') ? one : `http://${one}`));
    this.#namespace = namespace;
    this.#get = get;
    this.#clock = clock;
  }

  async fetch(
    epoch: number | undefined,
    signal: AbortSignal,
    elsewhere: boolean,
  ): Promise<TableContent | undefined> {
    this.#toldOlder = false;
    try {
      const content = await this.#look(epoch, signal, elsewhere);
      this.#olderLookups = 0;
      return content;
    } catch (error) {
      if (this.#toldOlder) this.#olderLookups++;
      throw error;
    }
  }

  async #look(
    epoch: number | undefined,
    signal: AbortSignal,
    elsewhere: boolean,
  ): Promise<TableContent | undefined> {
    this.#lookups++;
    const usual = this.#order()[0]!;
    if (elsewhere) this.#place(usual, this.#bases.length - 1);
    let brief = elsewhere;
    const reasons: string[] = [];
    let second: { content: TableContent | undefined } | undefined;
    for (const base of this.#order()) {
      if (signal.aborted) break;
      if (base === usual) brief = false;
      try {
        const told = await this.#ask(base, epoch, signal, brief);
        if (!told.stale) {
          this.#prefer(base);
          return told.content ?? second?.content;
        }
        second = { content: told.content ?? second?.content };
      } catch (error) {
        reasons.push(`${base}: ${reasonOf(error)}`);
      }
      this.#sitsOut.set(base, this.#lookups + SITS_OUT_LOOKUPS);
    }
    if (second !== undefined) return second.content;
    throw ownError('UNAVAILABLE', `no placedriver tells the partitions: ${reasons.join('; ')}`);
  }

  /** `brief`: the usual one is kept waiting by one that does not answer, but not for long. */
  async #ask(
    base: string,
    epoch: number | undefined,
    signal: AbortSignal,
    brief: boolean,
  ): Promise<Told> {
    if (!brief) return this.#fetchFrom(base, epoch, signal);
    const late = new AbortController();
    const ms = limits.sdkOtherPlacedriverMs;
    const timer = this.#clock.setTimer(ms, () => late.abort(new Error(`no answer in ${ms} ms`)));
    const until = eitherSignal(signal, late.signal);
    try {
      return await this.#fetchFrom(base, epoch, until.signal);
    } finally {
      timer.cancel();
      until.release();
    }
  }

  async #fetchFrom(base: string, epoch: number | undefined, signal: AbortSignal): Promise<Told> {
    const name = encodeURIComponent(this.#namespace);
    const asked = epoch === undefined ? '' : `?epoch=${epoch}`;
    const query = await this.#get(`${base}/query/${name}${asked}`, signal);
    const stale = query.header(STALE_HEADER) !== undefined;
    if (query.status === 304) return { content: undefined, stale };
    const summary = objectIn(await answered(query));
    const newest = numberIn(summary, 'epoch');
    if (newest < this.#epoch && (stale || this.#olderLookups < OLDER_LOOKUPS)) {
      this.#toldOlder ||= !stale;
      throw new Error(`its table is of epoch ${newest}, which is old`);
    }
    const [nodes, partitions] = await Promise.all([
      this.#get(`${base}/v1/nodes`, signal).then(answered),
      this.#get(`${base}/v1/namespaces/${name}/partitions`, signal).then(answered),
    ]);
    const content: TableContent = {
      epoch: newest,
      hash: summary['hash'] === 'murmur3' ? 'murmur3' : 'slots',
      nodes: listIn(objectIn(nodes), 'nodes').flatMap(nodeOf),
      partitions: listIn(objectIn(partitions), 'partitions').map(partitionOf),
      groups: true,
    };
    if (content.partitions.length === 0) throw new Error('the namespace has no partitions yet');
    // one at the end may be missing as well
    const all = summary['partition_num'];
    const lacks = typeof all === 'number' && content.partitions.length !== all;
    if (lacks || content.partitions.some(({ partition }, at) => partition !== at)) {
      throw new Error('its table of partitions has a gap');
    }
    this.#epoch = newest;
    return { content, stale };
  }

  #order(): string[] {
    const sitsOut = (base: string) => (this.#sitsOut.get(base) ?? 0) >= this.#lookups;
    const [last, first] = [this.#bases.filter(sitsOut), this.#bases.filter((one) => !sitsOut(one))];
    return [...first, ...last];
  }

  #prefer(base: string): void {
    this.#sitsOut.delete(base);
    this.#place(base, 0);
  }

  #place(base: string, at: number): void {
    this.#bases.splice(this.#bases.indexOf(base), 1);
    this.#bases.splice(at, 0, base);
  }
}

async function answered(answer: HttpAnswer): Promise<unknown> {
  const body = await answer.json();
  if (answer.status === 200) return body;
  const { message } = objectIn(body);
  throw new Error(typeof message === 'string' ? message : `HTTP status ${answer.status}`);
}

/** Nodes that are away have no address and are left out. */
function nodeOf(found: unknown): TableNode[] {
  const node = objectIn(found);
  if (node['alive'] !== true) return [];
  const address = objectIn(node['address']);
  const followerPort = address['followerPort'] ?? node['followerPort'];
  const dc = objectIn(node['tags'])['dc_info'];
  return [
    {
      name: textIn(node, 'name'),
      host: textIn(address, 'host'),
      port: numberIn(address, 'gatewayPort'),
      followerPort: typeof followerPort === 'number' && followerPort > 0 ? followerPort : undefined,
      dc: typeof dc === 'string' ? dc : undefined,
    },
  ];
}

function partitionOf(found: unknown): TablePartition {
  const record = objectIn(found);
  const [firstSlot, lastSlot] = listIn(record, 'slots').map(Number);
  const leader = record['leader'] === null ? undefined : objectIn(record['leader']);
  return {
    partition: numberIn(record, 'partition'),
    firstSlot: firstSlot ?? 0,
    lastSlot: lastSlot ?? 0,
    leader: leader && textIn(leader, 'node'),
    term: leader ? numberIn(leader, 'term') : 0,
    replicas: listIn(record, 'wanted').map((one) => textIn(objectIn(one), 'node')),
  };
}

/** What `fetch` hides in its cause: the system's reason. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? `${cause.code}` : '';
  return messageOf(cause) || code || 'no answer';
}

function objectIn(found: unknown): Readonly<Record<string, unknown>> {
  if (typeof found === 'object' && found !== null) return found as Record<string, unknown>;
  throw new Error('its answer is not of the shape expected');
}

function listIn(found: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const list = found[name];
  if (Array.isArray(list)) return list;
  throw new Error(`its answer has no list ${name}`);
}

function numberIn(found: Readonly<Record<string, unknown>>, name: string): number {
  const number = found[name];
  if (typeof number === 'number') return number;
  throw new Error(`its answer has no number ${name}`);
}

function textIn(found: Readonly<Record<string, unknown>>, name: string): string {
  const text = found[name];
  if (typeof text === 'string') return text;
  throw new Error(`its answer has no text ${name}`);
}
