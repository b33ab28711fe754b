/**
 * Node.js frameworks that people run beside Redis.
 *
 * Not tried: socket.io's adapter for streams.
 */
import { tryCaches } from './caches.mjs';
import { makeNamespace } from './place.mjs';
import { tryScripts } from './scripted.mjs';
import { trySessions } from './sessions.mjs';
import { trySockets } from './sockets.mjs';

await makeNamespace();
await tryCaches();
await tryScripts();
await trySockets();
await trySessions();
process.exit();
