/**
 * The table from the placedrivers' HTTP API. `GET /query/:namespace?epoch=` costs nothing while
 * nothing has changed; when something has, the slots and ports are read from `/v1`. All placedrivers
 * answer from what they watch: the one that answered last is asked first.
 */
import { messageOf } from '../common/errors.ts';
import { ownError } from './errors.ts';
import type { TableContent, TableNode, TablePartition, TableSource } from './table.ts';

/** An HTTP answer as the source needs it. */
export interface HttpAnswer {
  readonly status: number;
  json(): Promise<unknown>;
}

/** GET; rejects when nobody answers in time, or when `signal` ends it. */
export type HttpGet = (url: string, signal: AbortSignal) => Promise<HttpAnswer>;

/** Of Node.js; connections are kept for the next request. */
export function fetchGet(timeoutMs: number): HttpGet {
  return async (url, signal) => {
    const late = AbortSignal.timeout(timeoutMs);
    const answer = await fetch(url, { signal: AbortSignal.any([signal, late]) });
    return { status: answer.status, json: () => answer.json() };
  };
}

export class PlacedriverSource implements TableSource {
  readonly #bases: string[];
  readonly #namespace: string;
  readonly #get: HttpGet;
  /** Epochs are the same at every placedriver, but one may lag: an older table is not taken. */
  #epoch = 0;

  /** `addresses`: `host:port` of each placedriver's HTTP API. */
  constructor(addresses: readonly string[], namespace: string, get: HttpGet) {
    this.#bases = addresses.map((address) => `http://${address}`);
    this.#namespace = namespace;
    this.#get = get;
  }

  async fetch(epoch: number | undefined, signal: AbortSignal): Promise<TableContent | undefined> {
    const reasons: string[] = [];
    for (const base of [...this.#bases]) {
      if (signal.aborted) break;
      try {
        const found = await this.#fetchFrom(base, epoch, signal);
        this.#prefer(base);
        return found;
      } catch (error) {
        reasons.push(`${base}: ${reasonOf(error)}`);
      }
    }
    throw ownError('UNAVAILABLE', `no placedriver tells the partitions: ${reasons.join('; ')}`);
  }

  async #fetchFrom(
    base: string,
    epoch: number | undefined,
    signal: AbortSignal,
  ): Promise<TableContent | undefined> {
    const name = encodeURIComponent(this.#namespace);
    const asked = epoch === undefined ? '' : `?epoch=${epoch}`;
    const query = await this.#get(`${base}/query/${name}${asked}`, signal);
    if (query.status === 304) return undefined;
    const summary = objectIn(await answered(query));
    const newest = numberIn(summary, 'epoch');
    if (newest < this.#epoch) throw new Error(`its table is of epoch ${newest}, which is old`);
    const [nodes, partitions] = await Promise.all([
      this.#get(`${base}/v1/nodes`, signal).then(answered),
      this.#get(`${base}/v1/namespaces/${name}/partitions`, signal).then(answered),
    ]);
    const found: TableContent = {
      epoch: newest,
      hash: summary['hash'] === 'murmur3' ? 'murmur3' : 'slots',
      nodes: listIn(objectIn(nodes), 'nodes').flatMap(nodeOf),
      partitions: listIn(objectIn(partitions), 'partitions').map(partitionOf),
      groups: true,
    };
    if (found.partitions.some(({ partition }, at) => partition !== at)) {
      throw new Error('its table of partitions has a gap');
    }
    if (found.partitions.length === 0) throw new Error('the namespace has no partitions yet');
    this.#epoch = newest;
    return found;
  }

  #prefer(base: string): void {
    this.#bases.splice(this.#bases.indexOf(base), 1);
    this.#bases.unshift(base);
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
