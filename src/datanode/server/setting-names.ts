/** The settings of the doors by the names that CONFIG uses; commands/server/config-table.ts has their bounds. */
import { assert } from '../../common/assert.ts';
import type { ServerSettings } from './settings.ts';

const fields: ReadonlyMap<string, keyof ServerSettings> = new Map([
  ['maxclients', 'clientsMax'],
  ['maxmemory-clients', 'requestsBytesMax'],
  ['value-bytes-max', 'valueBytesMax'],
  ['reply-bytes-max', 'replyBytesMax'],
  ['hold-ms', 'holdMs'],
  ['slowlog-log-slower-than', 'slowLogMicroseconds'],
  ['slowlog-max-len', 'slowLogEntriesMax'],
  ['latency-monitor-threshold', 'latencyThresholdMs'],
  ['acllog-max-len', 'aclLogEntriesMax'],
  ['tracking-table-max-keys', 'trackingTableMaxKeys'],
]);

export function showSettings(settings: ServerSettings, port: number): ReadonlyMap<string, string> {
  const shown = [...fields].map(([name, field]) => [name, String(settings[field])] as const);
  return new Map([...shown, ['port', String(port)]]);
}

export function changeSetting(
  settings: ServerSettings,
  name: string,
  value: number,
): ServerSettings {
  const field = fields.get(name);
  assert(field !== undefined, () => `${name} is a setting of the doors`);
  return { ...settings, [field]: value };
}
