/** What INFO and /metrics tell of a datanode's process that does not change while it runs. */
import { createHash } from 'node:crypto';
import { KVORUM_VERSION } from '../common/version.ts';
import type { ProcessFacts } from './commands/rows/node-context.ts';
import type { DatanodeOptions } from './datanode-options.ts';

export function processFacts(options: DatanodeOptions, clusterId: string): ProcessFacts {
  const { config, clock, random, processId, configFile, os, systemMemoryBytes } = options;
  return {
    version: KVORUM_VERSION,
    runId: random.hex(20),
    clusterRunId: createHash('sha1').update(clusterId).digest('hex'),
    processId,
    startedMs: clock.wallMs(),
    configFile,
    os,
    systemMemoryBytes,
    hz: Math.max(1, Math.round(1_000 / config.timing['tick-ms'])),
    zone: config.tags['dc_info'] ?? '',
  };
}
