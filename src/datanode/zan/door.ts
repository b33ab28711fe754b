/** The port for ZanRedisDB's clients, where the configuration asks for one. */
import type { DatanodeConfig } from '../config.ts';
import type { RedisServer } from '../server/server.ts';
import { ZanConnection } from './connection.ts';

/** What `ports` of a datanode are to have of it. Rejects when the port is taken. */
export async function listenForZan(
  server: RedisServer,
  { zan, host, listen }: Pick<DatanodeConfig, 'zan' | 'host' | 'listen'>,
): Promise<{ readonly zan?: number }> {
  if (zan === undefined) return {};
  const address = { host: listen ?? host, port: zan.port };
  const port = await server.listen('zan', address, (...given) => new ZanConnection(...given));
  return { zan: port };
}
