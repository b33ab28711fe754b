/** What the configuration file says of the doors; the rest has its defaults, and CONFIG SET. */
import { limits as bounds } from '../common/limits.ts';
import type { DatanodeConfig } from './config.ts';
import { defaultServerSettings, type ServerSettings } from './server/settings.ts';

export function doorSettings(
  { limits, timing }: DatanodeConfig,
  systemMemoryBytes: number,
): ServerSettings {
  return {
    ...defaultServerSettings,
    requestsBytesMax: clientsBytes(bounds.clientsRequestBytesMax, systemMemoryBytes),
    repliesBytesMax: clientsBytes(bounds.clientsReplyBytesMax, systemMemoryBytes),
    clientsMax: limits.maxclients,
    valueBytesMax: limits['value-bytes-max'],
    replyBytesMax: limits['reply-bytes-max'],
    holdMs: timing['hold-ms'],
    replicaStalenessMs: timing['replica-max-staleness-ms'],
  };
}

/**
 * What all clients together may have a node hold: `most`, or less on a small machine, which is to let
 * a client go rather than lose the node. `systemMemoryBytes`: 0 where that is not known.
 */
function clientsBytes(most: number, systemMemoryBytes: number): number {
  if (systemMemoryBytes === 0) return most;
  const share = Math.floor(systemMemoryBytes / bounds.clientsMemoryShare);
  return Math.min(most, Math.max(share, bounds.clientsBytesMin));
}
