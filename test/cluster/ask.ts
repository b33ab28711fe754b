/** Questions to the HTTP doors of a cluster's nodes. */

import type { PartitionAnswer } from '../../src/cli/admin/shapes.ts';

const ANSWER_MS = 20_000;

/** What `url` answers, as JSON; rejects when that is no success. */
export async function askJson<Answer>(url: string): Promise<Answer> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

/** The same of a door on this machine. */
export function askPort<Answer>(port: number, path: string): Promise<Answer> {
  return askJson(`http://127.0.0.1:${port}${path}`);
}

/**
 * Every partition of `default` has the members it should, and no change of them is under way: while
 * one is, a quorum of those before counts as well, and nobody else may go.
 */
export async function areSettled(port: number): Promise<boolean> {
  const path = '/v1/namespaces/default/partitions';
  const { partitions } = await askPort<{ partitions: PartitionAnswer[] }>(port, path);
  return partitions.length > 0 && partitions.every(({ settled }) => settled);
}

/** Has the master hand a partition's lead to `to`; rejects when it does not take the request. */
export async function transferLead(
  port: number,
  [namespace, partition]: readonly [string, number],
  to: string,
): Promise<void> {
  const path = `/v1/namespaces/${namespace}/partitions/${partition}/transfer-leader`;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}
