/** Whether a cluster is as it should be, from what its datanodes tell over HTTP. */

/** What a datanode tells of one of its replicas, as far as our tools look at it. */
export interface ReplicaStatus {
  readonly partition: number;
  readonly node: string;
  readonly role: string;
  readonly leader: string | null;
  readonly commit: number;
  readonly applied: number;
  readonly state: string;
  /** How its namespace's reads are confirmed. */
  readonly reads: string;
}

const ANSWER_MS = 2_000;
/** Entries that a replica of a group under load may be behind its leader at any moment. */
const BEHIND_MAX = 50;

/** What the datanode at `address` (host:port of its HTTP door) holds; undefined: no answer. */
export async function statusOf(address: string): Promise<readonly ReplicaStatus[] | undefined> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(`http://${address}/status`, { signal });
    if (!response.ok) return undefined;
    return ((await response.json()) as { partitions: ReplicaStatus[] }).partitions;
  } catch {
    return undefined;
  }
}

/**
 * Nodes that do not answer, and replicas that are not as they should be: away, behind, or of a group
 * without a leader. `answers`: one for each datanode.
 */
export function unsettledOf(
  answers: readonly (readonly ReplicaStatus[] | undefined)[],
  wanted: { readonly partitions: number; readonly replicas: number },
): number {
  const replicas = answers.flatMap((answer) => answer ?? []);
  const away = answers.filter((answer) => answer === undefined).length;
  const commits = new Map<number, number>();
  for (const { partition, commit } of replicas) {
    commits.set(partition, Math.max(commits.get(partition) ?? 0, commit));
  }
  const wrong = replicas.filter(
    ({ partition, applied, state, leader }) =>
      state !== 'running' || leader === null || applied < commits.get(partition)! - BEHIND_MAX,
  );
  return away + wrong.length + Math.abs(wanted.partitions * wanted.replicas - replicas.length);
}
