/** The product's version, and the Redis version it answers as (clients gate features on it). */
export const KVORUM_VERSION = '0.1.0';
export const REDIS_VERSION = '7.2.4';
