/** How long a client may take to send a request: one that stops in the middle holds a connection. */
import { limits } from '../limits.ts';

/** Options of fastify; a request that is not there in `withinMs` milliseconds is answered 408. */
export function requestTime(withinMs: number = limits.httpRequestMs) {
  const requestTimeout = withinMs;
  const connectionsCheckingInterval = Math.ceil(withinMs / 2);
  return {
    requestTimeout,
    http: {
      requestTimeout,
      headersTimeout: withinMs,
      connectionsCheckingInterval,
      maxHeaderSize: limits.httpHeaderBytesMax,
    },
  };
}
