/** A namespace whose reads are confirmed by leases, in the place of rounds, for a while. */
import type { RunningKvorum } from './kvorum-cluster.ts';
import { order } from './operator.ts';

type Cluster = Pick<RunningKvorum, 'httpPort' | 'check'> & {
  readonly datanodes: Pick<RunningKvorum['datanodes'], 'names' | 'status' | 'until'>;
};

const HEARD_MS = 20_000;

type Reads = 'lease' | 'linearizable';

/**
 * Runs `work` while the leaders of the namespace `default` read under leases. Rejects when one of the
 * datanodes does not hear of the change within 20 s.
 */
export async function underLeases(kvorum: Cluster, work: () => Promise<void>): Promise<void> {
  await confirmReadsBy('lease', kvorum);
  await work();
  await confirmReadsBy('linearizable', kvorum);
}

/** Resolves once every replica knows it. */
async function confirmReadsBy(
  reads: Reads,
  { httpPort, datanodes, check }: Cluster,
): Promise<void> {
  await order(httpPort, ['PATCH', '/v1/namespaces/default'], { reads }, HEARD_MS);
  await datanodes.until(HEARD_MS, `all replicas have heard of reads: ${reads}`, async () => {
    check();
    const answers = await Promise.all(datanodes.names.map((name) => datanodes.status(name)));
    return answers.every((answer) => answer?.every((replica) => replica.reads === reads) === true);
  });
}
