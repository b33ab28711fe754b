/** Transports under test: a recorder of what each was handed, over any Network and Clock. */
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import type { NodeId } from '../../../src/common/ids.ts';
import { type LogFields, type Logger, silentLogger } from '../../../src/common/log.ts';
import type { Network } from '../../../src/common/network.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import type { TransportSettings } from '../../../src/datanode/transport/settings.ts';
import { createTransport } from '../../../src/datanode/transport/tcp-transport.ts';
import type {
  GroupMessage,
  PeerAddress,
  PubSubHandlers,
  Transport,
  TransportHandlers,
} from '../../../src/datanode/transport/transport.ts';

export interface TestNode {
  readonly name: NodeId;
  readonly transport: Transport;
  readonly received: (GroupMessage & { readonly from: NodeId })[];
  readonly events: string[];
  readonly warnings: { readonly message: string; readonly fields: LogFields }[];
  /** May be replaced by a test at any time. */
  readonly handlers: Partial<TransportHandlers>;
  readonly address: PeerAddress;
}

export interface NodeOptions {
  readonly clusterId?: string;
  readonly incarnation?: string;
  readonly bootId?: string;
  readonly network?: Network;
  readonly clock?: Clock;
  readonly host?: string;
  readonly port?: number;
  readonly settings?: Partial<TransportSettings>;
  readonly pubsub?: PubSubHandlers;
}

/** Short enough for tests, long enough for a busy machine. */
const quick: Partial<TransportSettings> = {
  keepaliveMs: 50,
  silenceMs: 1_000,
  backoffMinMs: 5,
  backoffMaxMs: 50,
};

export async function startNode(name: string, options: NodeOptions = {}): Promise<TestNode> {
  const received: TestNode['received'] = [];
  const events: string[] = [];
  const warnings: TestNode['warnings'] = [];
  const overrides: { -readonly [K in keyof TransportHandlers]?: TransportHandlers[K] } = {};
  const incarnation = options.incarnation ?? `inc-${name}`;
  const host = options.host ?? '127.0.0.1';
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields = {}) => warnings.push({ message, fields }),
  };
  const transport = await createTransport({
    network: options.network ?? tcpNetwork,
    clock: options.clock ?? systemClock,
    logger,
    random: seededRandom(name),
    clusterId: options.clusterId ?? 'cluster',
    node: name,
    incarnation,
    bootId: options.bootId ?? `boot-${name}`,
    listen: { host, port: options.port ?? 0 },
    settings: { ...quick, ...options.settings },
    handlers: {
      ...(options.pubsub && { pubsub: options.pubsub }),
      onMessages(from, messages) {
        if (overrides.onMessages) overrides.onMessages(from, messages);
        else for (const message of messages) received.push({ from, ...message });
      },
      onRequest: (from, body, gone, room) =>
        overrides.onRequest?.(from, body, gone, room) ?? Promise.resolve(body),
      async onStream(from, header, chunks) {
        if (overrides.onStream) return overrides.onStream(from, header, chunks);
        for await (const _ of chunks);
      },
      onPeer(node, reachable, bootId) {
        events.push(`${node} ${reachable ? 'up' : 'down'}`);
        overrides.onPeer?.(node, reachable, bootId);
      },
    },
  });
  const address = { host, port: transport.port, incarnation };
  return { name, transport, received, events, warnings, handlers: overrides, address };
}

/** Makes all of them peers of each other. */
export function introduce(...nodes: readonly TestNode[]): void {
  const peers = new Map(nodes.map((node) => [node.name, node.address]));
  for (const node of nodes) node.transport.setPeers(peers);
}

/** Waits on the host's clock until `condition` holds; fails after `timeoutMs`. */
export async function eventually(
  what: string,
  condition: () => boolean,
  timeoutMs = 30_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function allReachable(...nodes: readonly TestNode[]): boolean {
  return nodes.every((node) =>
    nodes.every((other) => other === node || node.transport.isReachable(other.name)),
  );
}
