/**
 * Node.js frameworks that people run beside Redis.
 *
 * Not tried, since they run Lua scripts: BullMQ, Bee-Queue, Redlock, rate-limit-redis (express-rate-limit),
 * and rate-limiter-flexible but for its `RateLimiterRedisNonAtomic`. Nor socket.io's adapter for streams.
 */
import { tryCaches } from './caches.mjs';
import { makeNamespace } from './place.mjs';
import { trySessions } from './sessions.mjs';
import { trySockets } from './sockets.mjs';

await makeNamespace();
await tryCaches();
await trySockets();
await trySessions();
process.exit();
