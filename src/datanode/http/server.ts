/** A datanode's HTTP door: is it there, and what do its replicas do. */
import fastify from 'fastify';
import type { Address } from '../../common/network.ts';
import type { ReplicaStatus } from '../status.ts';

export interface NodeStatus {
  readonly node: string;
  readonly incarnation: string;
  readonly version: string;
  /** Serving: it has its table, its replicas are open and their leaders known. */
  readonly ready: boolean;
  /** Replicas that stopped after a fault, by group, with the reason. */
  readonly faults: Readonly<Record<string, string>>;
  readonly partitions: readonly ReplicaStatus[];
}

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when the address is taken. */
export async function startHttp(address: Address, status: () => NodeStatus): Promise<HttpServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/ping', async (_request, reply) => reply.type('text/plain').send('OK'));
  app.get('/status', async () => status());
  app.setNotFoundHandler((request, reply) => {
    const message = `no route ${request.method} ${request.url}; there are /ping and /status`;
    void reply.code(404).send({ message });
  });
  await app.listen({ host: address.host, port: address.port });
  const bound = app.server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  return { port, close: () => app.close() };
}
