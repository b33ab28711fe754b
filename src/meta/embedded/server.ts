/**
 * The embedded metadata store: the part of etcd's v3 gRPC API that kvorum and etcdctl use, served
 * by one process.
 */
import { Server } from '@grpc/grpc-js';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { hostPort } from '../../common/host-port.ts';
import { limits } from '../../common/limits.ts';
import { listenFailure } from '../../common/listen-failure.ts';
import type { Address } from '../../common/network.ts';
import { type Random, systemRandom } from '../../common/random.ts';
import { LocalStore, type LocalStoreOptions } from './local-store.ts';
import { addServices } from './services.ts';
import { boundHandshakes } from './store-handshakes.ts';
import { type StoreTls, serverCredentials } from './store-tls.ts';

export interface EmbeddedStoreOptions extends Omit<LocalStoreOptions, 'random'> {
  readonly random?: Random;
  readonly listen: Address;
  /** TLS alone, of who shows a certificate of these authorities; absent: plain. */
  readonly tls?: StoreTls | undefined;
}

export interface EmbeddedStore {
  readonly port: number;
  /** For `connectEtcd` and etcdctl. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Recovers the store in `dir` and serves it. Throws CORRUPT naming file and offset, or BAD_CONFIG
 * when the address cannot be bound.
 */
export async function startEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const store = await LocalStore.open({ ...options, random: options.random ?? systemRandom() });
  const server = new Server({
    'grpc.max_receive_message_length': limits.metaRequestBytesMax,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 10_000,
  });
  const bound = { url: '' };
  addServices(server, store, () => bound.url);
  let port: number;
  try {
    port = await bind(server, hostPort(options.listen), serverCredentials(options.tls));
  } catch (error) {
    server.forceShutdown();
    await store.close();
    throw bindFailure(error, options.listen);
  }
  if (options.tls !== undefined) boundHandshakes(server);
  bound.url = `${options.tls ? 'https' : 'http'}://${hostPort({ host: options.listen.host, port })}`;
  options.logger.info('metadata store is ready', {
    url: bound.url,
    revision: store.state.revision,
  });
  return {
    port,
    url: bound.url,
    async close() {
      server.forceShutdown();
      await store.close();
    },
  };
}

/** gRPC tells the system's code in its text alone, and a name without address in words. */
function bindFailure(error: unknown, address: Address): KvorumError {
  const text = messageOf(error);
  const unnamed = /name resolution|resolved for/i.test(text) ? 'ENOTFOUND' : undefined;
  const code = /\bE(?:ADDRINUSE|ADDRNOTAVAIL|ACCES|NOTFOUND|AI_AGAIN)\b/.exec(text)?.[0] ?? unnamed;
  const failure = Object.assign(new Error(text), { code });
  const told = listenFailure(failure, address, 'meta.embedded.port');
  return new KvorumError('BAD_CONFIG', `metadata store: ${messageOf(told)}`, { cause: error });
}

function bind(
  server: Server,
  address: string,
  how: ReturnType<typeof serverCredentials>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, how, (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}
