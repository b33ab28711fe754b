/** What the bench asks of a placedriver, as an operator would. */

/**
 * Sends `body` as JSON to `path` of the placedriver at `httpPort` of this machine. Rejects with what
 * it says when it refuses, and when it has not answered after `boundMs`.
 */
export async function order(
  httpPort: number,
  [method, path]: readonly ['POST' | 'PATCH', string],
  body: object,
  boundMs: number,
): Promise<void> {
  const url = `http://127.0.0.1:${httpPort}${path}`;
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(boundMs),
  });
  if (!response.ok)
    throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
}
