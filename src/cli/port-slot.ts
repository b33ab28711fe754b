/**
 * Ports for a temporary cluster, of which any number may be started at once on a machine, by any
 * number of processes: tests run in parallel.
 */
import { createServer, type Server } from 'node:net';
import { KvorumError } from '../common/errors.ts';
import { systemRandom } from '../common/random.ts';
import { isFree } from './port-plan.ts';

/** Where slots of ports begin: 90 of them, below the ports that systems use for outgoing connections. */
const LOWEST_PORT = 21_000;
const SLOTS = 90;
/** One that is held, two of the placedriver, five of each of up to 16 datanodes. */
const SLOT_PORTS = 100;

/** Ports that are this process's until they are released. */
export interface Slot {
  readonly first: number;
  release(): void;
}

/**
 * A slot with `count` free ports, 99 at most. It belongs to who listens on its first port, from here on: nobody
 * else takes what is free only because its process starts, or was killed and starts again. The search
 * begins at slot `start`; rejects with `BAD_CONFIG` when there is none.
 */
export async function takeSlot(count: number, start = systemRandom().below(SLOTS)): Promise<Slot> {
  for (let tried = 0; tried < SLOTS; tried++) {
    const held = LOWEST_PORT + ((start + tried) % SLOTS) * SLOT_PORTS;
    const server = await hold(held);
    if (server === undefined) continue;
    const ports = Array.from({ length: count }, (_, at) => held + 1 + at);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return { first: held + 1, release: () => server.close() };
    server.close();
  }
  throw new KvorumError('BAD_CONFIG', 'no free ports found on this machine');
}

/** Undefined when somebody else has it. It keeps no process alive. */
function hold(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(server.unref()));
  });
}
