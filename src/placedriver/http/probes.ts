/** What orchestrators and monitors are told of a placedriver. */

import { messageOf } from '../../common/errors.ts';
import type { Probes } from '../../common/http/probe-routes.ts';
import type { LoopMeter } from '../../common/loop-meter.ts';
import type { DaysLeft } from '../../common/tls/keeper.ts';
import { keys } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';
import type { ClusterView } from '../view/cluster-view.ts';
import { measure } from '../view/measures.ts';
import { createMetricsPage } from './metrics.ts';

export interface ProbeSources {
  readonly name: string;
  readonly version: string;
  readonly store: MetaStore;
  readonly view: ClusterView;
  readonly loop: LoopMeter;
  isMaster(): boolean;
  readonly tlsDaysLeft?: (() => readonly DaysLeft[] | undefined) | undefined;
}

export function createProbes(sources: ProbeSources): Probes {
  const { name, version, store, view, loop } = sources;
  return {
    /** Ready as standby as well: who is master makes no difference to who asks. */
    async readiness() {
      try {
        await store.get(keys.cluster);
      } catch (failure) {
        const why = messageOf(failure);
        return { ready: false, reasons: [`the metadata store does not answer: ${why}`] };
      }
      if (view.ready) return { ready: true, reasons: [] };
      return { ready: false, reasons: ['the metadata store has not told what it holds yet'] };
    },
    metrics: createMetricsPage(
      async () => ({
        name,
        version,
        isMaster: sources.isMaster(),
        loopDelay: loop.delay,
        tlsDaysLeft: sources.tlsDaysLeft?.(),
        cluster: await measure(store, view).catch(() => undefined),
      }),
      { process: true },
    ),
  };
}
