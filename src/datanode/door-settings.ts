/** What the configuration file says of the doors; the rest has its defaults, and CONFIG SET. */
import type { DatanodeConfig } from './config.ts';
import { defaultServerSettings, type ServerSettings } from './server/settings.ts';

export function doorSettings({ limits, timing }: DatanodeConfig): ServerSettings {
  return {
    ...defaultServerSettings,
    clientsMax: limits.maxclients,
    valueBytesMax: limits['value-bytes-max'],
    replyBytesMax: limits['reply-bytes-max'],
    holdMs: timing['hold-ms'],
    replicaStalenessMs: timing['replica-max-staleness-ms'],
  };
}
