/**
 * The product's version, and the Redis version it answers as. Clients gate features on it: redis-py and
 * Jedis cache nothing of a server that says it is older than 7.4.0.
 */
export const KVORUM_VERSION = '0.1.0';
export const REDIS_VERSION = '7.4.0';
