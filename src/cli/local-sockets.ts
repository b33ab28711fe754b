/** Sockets of the file system that only tell that this process lives. */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { basename, dirname } from 'node:path';
import { messageOf, systemCodeOf } from '../common/errors.ts';
import type { LocalSockets } from '../common/lock-socket.ts';
import type { Logger } from '../common/log.ts';

/** Of `sockaddr_un` without the final zero: on Linux, and the least that other systems have. */
const PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/**
 * Somebody listens, but may not be reached (a rule between containers: the file itself lets
 * everybody in) or has no place for one more.
 */
const livesCodes: ReadonlySet<string | undefined> = new Set(['EACCES', 'EAGAIN']);

/** Where a file system has no sockets, a debug line says so. */
export function localSockets(logger: Logger): LocalSockets {
  return {
    async listen(path) {
      try {
        return await listenAt(path);
      } catch (failure) {
        const why = messageOf(failure);
        logger.debug('no socket: other containers cannot see that this process lives', { why });
        return undefined;
      }
    },
    answers,
  };
}

async function listenAt(path: string): Promise<{ close(): Promise<void> }> {
  const place = await reach(path);
  try {
    const server = createServer((caller) => caller.on('error', () => {}).destroy());
    server.listen({ path: place.path, writableAll: true });
    await once(server, 'listening');
    server.on('error', () => {});
    server.unref();
    return {
      async close() {
        server.close();
        await once(server, 'close');
        await place.leave();
      },
    };
  } catch (failure) {
    await place.leave();
    throw failure;
  }
}

async function answers(path: string): Promise<boolean> {
  const place = await reach(path).catch(() => undefined);
  if (place === undefined) return false;
  try {
    const caller = connect({ path: place.path }).on('error', () => {});
    await once(caller, 'connect').finally(() => caller.destroy());
    return true;
  } catch (failure) {
    return livesCodes.has(systemCodeOf(failure));
  } finally {
    await place.leave();
  }
}

/** A path that an address has room for: a long one goes by the open directory (Linux). */
async function reach(path: string): Promise<{ readonly path: string; leave(): Promise<void> }> {
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, async leave() {} };
  const directory = await open(dirname(path), 'r');
  return {
    path: `/proc/self/fd/${directory.fd}/${basename(path)}`,
    leave: () => directory.close(),
  };
}
