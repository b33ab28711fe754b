/** A namespace whose reads are confirmed by leases, in the place of rounds, for a while. */
import type { RunningKvorum } from './kvorum-cluster.ts';

const HEARD_MS = 20_000;

type Reads = 'lease' | 'linearizable';

/**
 * Runs `work` while the leaders of the namespace `default` read under leases. Rejects when one of the
 * datanodes does not hear of the change within 20 s.
 */
export async function underLeases(kvorum: RunningKvorum, work: () => Promise<void>): Promise<void> {
  await confirmReadsBy('lease', kvorum);
  await work();
  await confirmReadsBy('linearizable', kvorum);
}

/** Resolves once every replica knows it. */
async function confirmReadsBy(
  reads: Reads,
  { httpPort, datanodes, check }: RunningKvorum,
): Promise<void> {
  const url = `http://127.0.0.1:${httpPort}/v1/namespaces/default`;
  const headers = { 'content-type': 'application/json' };
  const asked = { method: 'PATCH', headers, body: JSON.stringify({ reads }) };
  const response = await fetch(url, { ...asked, signal: AbortSignal.timeout(HEARD_MS) });
  if (!response.ok) throw new Error(`PATCH ${url}: ${response.status} ${await response.text()}`);
  await datanodes.until(HEARD_MS, `all replicas have heard of reads: ${reads}`, async () => {
    check();
    const answers = await Promise.all(datanodes.names.map((name) => datanodes.status(name)));
    return answers.every((answer) => answer?.every((replica) => replica.reads === reads) === true);
  });
}
