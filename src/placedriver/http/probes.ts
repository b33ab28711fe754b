/** What orchestrators and monitors are told of a placedriver. */
import { messageOf } from '../../common/errors.ts';
import type { Probes } from '../../common/http/probe-routes.ts';
import type { LoopMeter } from '../../common/loop-meter.ts';
import type { ClusterQueries } from '../queries.ts';
import { createMetricsPage } from './metrics.ts';

export function createProbes(queries: ClusterQueries, loop: LoopMeter): Probes {
  return {
    /** Ready as standby as well: who is master makes no difference to who asks. */
    async readiness() {
      try {
        await queries.ping();
        return { ready: true, reasons: [] };
      } catch (failure) {
        const why = messageOf(failure);
        return { ready: false, reasons: [`the metadata store does not answer: ${why}`] };
      }
    },
    metrics: createMetricsPage(
      async () => ({
        name: queries.name,
        version: queries.version,
        isMaster: queries.isMaster,
        loopDelay: loop.delay,
        cluster: await queries.measures().catch(() => undefined),
      }),
      { process: true },
    ),
  };
}
