/** Free loopback ports, below the range systems use for outgoing connections. */
import { createServer } from 'node:net';

const LOWEST = 10_000;
const HIGHEST = 30_000;

/** The first of `count` consecutive free ports; `after` the ones another call has returned. */
export async function freePorts(count: number, after?: number): Promise<number> {
  const from = after ?? LOWEST + Math.floor(Math.random() * 8_000);
  for (let first = from; first + count < HIGHEST; first += count) {
    const wanted = Array.from({ length: count }, (_, at) => first + at);
    if ((await Promise.all(wanted.map(isFree))).every(Boolean)) return first;
  }
  throw new Error(`no ${count} free ports between ${from} and ${HIGHEST}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
