/**
 * Node.js frameworks that people run beside Redis.
 *
 * Not tried: socket.io's adapter for streams.
 */
import { tryCaches } from './caches.mjs';
import { makeNamespace } from './place.mjs';
import { tryQueues } from './queues.mjs';
import { tryScripts } from './scripted.mjs';
import { trySessions } from './sessions.mjs';
import { trySockets } from './sockets.mjs';
import { tryStreams } from './streams.mjs';

await makeNamespace();
await tryCaches();
await tryScripts();
await trySockets();
await trySessions();
await tryStreams();
await tryQueues();
process.exit();
