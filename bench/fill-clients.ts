/**
 * Clients that write every key of a FillLoad once through the cluster ports, each to the node that has
 * its slot.
 */
import { slotOfKey } from '../src/common/hash.ts';
import { pause } from '../tools/children.ts';
import { type FillLoad, type FillResult, fillKey } from './fill-words.ts';
import { RespClient, request } from './resp-client.ts';
import { slotPorts } from './slot-ports.ts';

const HOST = '127.0.0.1';

/** Leaders may move meanwhile: a command that is sent elsewhere, or refused for now, is sent again. */
const AGAIN_MS = 20;
const AGAIN_MAX = 1_000;
const REFUSALS = /^(?:TRYAGAIN|CLUSTERDOWN|LOADING)/;

/** Connections to nodes that commands were sent on to. */
class Detours {
  readonly #clients = new Map<number, Promise<RespClient>>();

  to(port: number): Promise<RespClient> {
    const client = this.#clients.get(port) ?? RespClient.open(HOST, port);
    this.#clients.set(port, client);
    return client;
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) (await client).close();
  }
}

export async function fillCluster(told: FillLoad): Promise<FillResult> {
  const ports = await slotPorts(told.port);
  const nodes = [...new Set(ports)];
  const value = 'v'.repeat(told.valueBytes);
  const keys = nodes.map((port) => keysOf(told, ports, port));
  const detours = new Detours();
  const clients = await Promise.all(
    nodes.flatMap((port, at) =>
      Array.from({ length: told.clients }, async () => ({
        client: await RespClient.open(HOST, port),
        keys: keys[at]!,
      })),
    ),
  );
  const began = performance.now();
  await Promise.all(
    clients.map(async ({ client, keys: own }) => {
      for (let batch = take(own, told.pipeline); batch.length > 0; ) {
        const commands = batch.map((key) => request('SET', key, value));
        await Promise.all(commands.map((bytes) => write(client, detours, bytes)));
        batch = take(own, told.pipeline);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  for (const { client } of clients) client.close();
  await detours.close();
  return { seconds };
}

/** The keys of one node, each handed out once. */
function* keysOf({ first, count }: FillLoad, ports: readonly number[], port: number) {
  for (let at = first; at < first + count; at++) {
    const key = fillKey(at);
    if (ports[slotOfKey(Buffer.from(key, 'latin1'))] === port) yield key;
  }
}

function take(keys: Iterator<string>, count: number): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const next = keys.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}

async function write(client: RespClient, detours: Detours, bytes: string): Promise<void> {
  let at = client;
  for (let tried = 0; ; tried++) {
    const failure = await sent(at, bytes);
    if (failure === undefined) return;
    const [, port] = /^MOVED \d+ [^:]*:(\d+)/.exec(failure.message) ?? [];
    if (tried === AGAIN_MAX || (port === undefined && !REFUSALS.test(failure.message))) {
      throw failure;
    }
    if (tried > 0) await pause(AGAIN_MS);
    if (port !== undefined) at = await detours.to(Number(port));
  }
}

function sent(client: RespClient, bytes: string): Promise<Error | undefined> {
  return new Promise((resolve) => client.send(bytes, resolve));
}
