/** Addresses of the metadata store, as configurations and the command line give them. */

const SHAPE = /^(?:(https?):\/\/)?((?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255}):(\d{1,5}))\/?$/;

export const STORE_URL_WANTED = 'an address as http://10.1.0.1:2379, with a port from 1 to 65535';
export const STORE_URLS_WANTED = 'either all http or all https';

/** One address without its slash, `http` when it names no scheme; undefined when it is none. */
export function storeUrl(text: string): string | undefined {
  const [, scheme = 'http', hostPort, port] = SHAPE.exec(text) ?? [];
  if (hostPort === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return `${scheme}://${hostPort}`;
}

/** One connection serves all of them: it is secured or it is not. */
export function haveOneScheme(urls: readonly string[]): boolean {
  return new Set(urls.map((url) => url.startsWith('https:'))).size <= 1;
}
