/** What the configuration file says of the replicas; the rest has its defaults. */
import type { DatanodeConfig } from './config.ts';
import { defaultHostSettings, type HostSettings } from './partition/host/host-settings.ts';

export function replicaSettings({ timing }: DatanodeConfig): HostSettings {
  return {
    ...defaultHostSettings,
    tickMs: timing['tick-ms'],
    electionTicks: timing['election-ticks'],
    heartbeatTicks: timing['heartbeat-ticks'],
    clockSkewMaxMs: timing['max-clock-skew-ms'],
    clockDriftMax: timing['max-clock-drift-percent'] / 100,
    engineSyncIntervalMs: timing['engine-sync-interval-ms'],
    scrubPauseMs: timing['scrub-pause-ms'],
  };
}
