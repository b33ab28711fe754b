/**
 * How many connections an HTTP door has: each takes one of the process's open files, which engines,
 * logs and the metadata store need as well. Where there are as many as may be, those that rest between
 * two requests are closed, or else the one that has longest sent no whole request: monitors and
 * operators get in beside whoever opens connections and says nothing. Who comes while all the others
 * are being answered is told so.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../limits.ts';
import { acceptedOf } from './secure-door.ts';

type Socket = FastifyRequest['raw']['socket'];

/** Before routes are added. */
export function boundConnections(app: FastifyInstance, max: number): void {
  const { server } = app;
  /** Those that have sent no request yet, the oldest first. */
  const silent = new Set<Socket>();
  const late = new WeakSet<Socket>();
  let open = 0;
  server.maxConnections = max + limits.httpRefusedMax;
  server.on('connection', (socket: Socket) => {
    open++;
    if (open > max) {
      late.add(socket);
      server.closeIdleConnections();
      const [oldest] = silent;
      oldest?.destroy();
    }
    silent.add(socket);
    socket.once('close', () => {
      open--;
      silent.delete(socket);
    });
  });
  app.addHook('onRequest', async ({ raw }, reply) => {
    const socket = acceptedOf(raw.socket);
    silent.delete(socket);
    if (!late.delete(socket) || open <= max) return;
    const message =
      `${max} connections are being answered here, as many as may be: try again, keep fewer open, ` +
      'or ask another process';
    return reply.code(503).headers({ connection: 'close', 'retry-after': '1' }).send({ message });
  });
}
