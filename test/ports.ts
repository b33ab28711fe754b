/**
 * Ports for the processes that tests start. All of them below 32,768, where systems take those of
 * outgoing connections: a port that is free while its process is away stays so until it is back.
 */
import { createServer } from 'node:net';

export interface Ports {
  readonly gateway: number;
  readonly cluster: number;
  readonly http: number;
}

/**
 * One range for each kind, of which none overlaps another, nor those that a cluster port gives:
 * from 11,000, 20,000 and 30,000. Temporary clusters of the product itself take 21,000 to 29,999.
 */
const ranges = {
  cluster: [10_000, 11_000],
  gateway: [12_000, 16_000],
  http: [16_001, 17_900],
  zan: [17_901, 19_900],
  store: [31_000, 32_000],
} as const;

/** What `kvorum start` adds to a cluster port for reads of followers, the transport and HTTP. */
const DERIVED = [0, 1_000, 10_000, 20_000];

/** Consecutive free ports for each door of so many nodes, with those derived from them. */
export async function freePorts(nodes: number): Promise<Ports> {
  const cluster = await freeRun(nodes, 'cluster', DERIVED);
  const gateway = await freeRun(nodes, 'gateway');
  const http = await freeRun(2, 'http');
  return { gateway, cluster, http };
}

/** The first of free ports for ZanRedisDB's clients, one for each node. */
export function freeZanPort(nodes: number): Promise<number> {
  return freeRun(nodes, 'zan');
}

/** Of a metadata store, which may be away and come back: for its clients, the next for its peers. */
export function freeStorePort(): Promise<number> {
  return freeRun(2, 'store');
}

/** More than files ever run at once. */
const SHARES = 4;

/** The first of `count` ports in a row that are free, each with the `offsets` added, too. */
async function freeRun(count: number, kind: keyof typeof ranges, offsets: readonly number[] = [0]) {
  const [from, to] = ranges[kind];
  // files run at once, each in its share: what one has found free the others do not take
  const share = Math.floor((to - from) / SHARES);
  const lowest = from + (Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES) * share;
  const places = Math.floor(share / count);
  const start = Math.floor(Math.random() * places);
  for (let tried = 0; tried < places; tried++) {
    const first = lowest + ((start + tried) % places) * count;
    const ports = Array.from({ length: count }, (_, at) => first + at);
    const all = ports.flatMap((port) => offsets.map((offset) => port + offset));
    const free = await Promise.all(all.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`no ${count} free ports from ${lowest} to ${lowest + share}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
