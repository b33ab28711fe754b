import type { Address } from './network.ts';

/** `host:port` as URLs and options take it: addresses of IPv6 in brackets. */
export function hostPort({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
