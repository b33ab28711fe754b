import { expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { doorSettings } from '../../src/datanode/door-settings.ts';
import { showSettings } from '../../src/datanode/server/setting-names.ts';

const MIB = 1024 * 1024;

function config() {
  return datanodeConfigSchema.parse({
    name: 'n1',
    'data-dir': '/data',
    meta: { endpoints: ['memory:1'] },
  });
}

test.for([
  { memory: 24_576, most: 1_024, machine: 'a large machine' },
  { memory: 8_192, most: 512, machine: 'one of 8 GiB' },
  { memory: 1_024, most: 256, machine: 'a small one' },
])('requests and replies of clients may take $most MiB each of $machine', ({ memory, most }) => {
  const settings = doorSettings(config(), memory * MIB);
  expect(settings.requestsBytesMax).toBe(most * MIB);
  expect(settings.repliesBytesMax).toBe(most * MIB);
  expect(showSettings(settings, 6_379).get('maxmemory-clients')).toBe(String(most * MIB));
});

test('where nobody knows how much memory there is, it is taken for a large machine', () => {
  const { requestsBytesMax, repliesBytesMax } = doorSettings(config(), 0);
  expect(requestsBytesMax).toBe(limits.clientsRequestBytesMax);
  expect(repliesBytesMax).toBe(limits.clientsReplyBytesMax);
});
