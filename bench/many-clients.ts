/** What a datanode holds in memory at most while many clients read and write. */
import { Accounting } from './accounting.ts';
import { fill } from './fill.ts';
import { startKvorum } from './kvorum-cluster.ts';
import * as benchmark from './redis-benchmark.ts';
import { keysOf } from './redis-door.ts';
import type { Scenario } from './scenario.ts';

const CLIENTS = 256;
const KEYS = 200_000;
const START_SECONDS = 25;
const WARM_SECONDS = 5;

const loads = (['cluster', 'gateway'] as const).flatMap((door) =>
  ([1, 16] as const).flatMap((pipeline) =>
    (['SET', 'GET'] as const).map((test) => ({ door, pipeline, test })),
  ),
);

export const manyClients: Scenario = {
  text: `RssAnon of a datanode under ${CLIENTS} clients`,
  seconds: ({ seconds }) => START_SECONDS + loads.length * (seconds + WARM_SECONDS),
  async measure({ options, directory, progress }) {
    const kvorum = await startKvorum(directory);
    const accounting = new Accounting(kvorum.processes);
    try {
      const { clusterPort, gatewayPort } = kvorum;
      const { keySpace } = await benchmark.clusterKeySpace(clusterPort, keysOf(gatewayPort));
      await fill({ port: clusterPort, first: 0, count: KEYS, valueBytes: 100 });
      for (const { door, test, pipeline } of loads) {
        const isCluster = door === 'cluster';
        const port = isCluster ? clusterPort : gatewayPort;
        const target = {
          ...{ port, cluster: isCluster },
          keySpace: isCluster ? keySpace : benchmark.KEY_SPACE,
        };
        const load = { test, pipeline, clients: CLIENTS, valueBytes: 100 };
        await benchmark.measure(target, load, options.seconds, (work) => work());
        kvorum.check();
        const most = peakMegabytes(accounting);
        progress(`memory: ${door}, ${test} ×${pipeline}: ${most.toFixed(0)} MB at most so far`);
      }
      return [
        {
          text: `RssAnon of a datanode under ${CLIENTS} clients, peak`,
          ...{ unit: 'MB', better: 'less', reach: 400, goal: 200 },
          measured: peakMegabytes(accounting),
          note: 'SET and GET, pipeline 1 and 16, cluster ports and gateway',
        },
      ];
    } finally {
      accounting.close();
      await kvorum.stop();
    }
  },
};

function peakMegabytes(accounting: Accounting): number {
  const peaks = Object.entries(accounting.memory())
    .filter(([name]) => name.startsWith('datanode'))
    .map(([, { peakBytes }]) => peakBytes / 1e6);
  return Math.max(...peaks);
}
