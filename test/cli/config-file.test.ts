import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/cli/config-file.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { placedriverConfigSchema } from '../../src/placedriver/config.ts';

const minimal = `
name: n1
data-dir: /tmp/n1
ports: {}
meta: { endpoints: ["http://127.0.0.1:2379"] }
`;

describe('configuration files', () => {
  test('need little and have right defaults', () => {
    const config = parseConfig(minimal, 'n1.yaml', datanodeConfigSchema);
    expect(config.ports.gateway).toBe(6379);
    expect(config.timing['election-ticks']).toBe(10);
  });

  test('take tags as the design writes them', () => {
    const text = `${minimal}tags: {"dc_info": "dc1"}\n`;
    expect(parseConfig(text, 'n1.yaml', datanodeConfigSchema).tags).toEqual({ dc_info: 'dc1' });
  });

  test.each([
    ['a misspelt key', `${minimal}portz: 1\n`, /n1\.yaml: .*portz/],
    ['a bad port', minimal.replace('ports: {}', 'ports: { gateway: 99999 }'), /ports\.gateway/],
    ['a missing name', minimal.replace('name: n1', ''), /name/],
    ['broken YAML', `${minimal}tags: {"dc_info": \n`, /n1\.yaml:\d+:\d+: /],
    ['nothing', '', /data-dir/],
  ])('with %s say file, place and what is wrong', (_what, text, message) => {
    expect(() => parseConfig(text, 'n1.yaml', datanodeConfigSchema)).toThrow(message);
  });

  test('in configs/ are valid', () => {
    const load = (name: string) =>
      readFileSync(new URL(`../../configs/${name}`, import.meta.url), 'utf8');
    parseConfig(load('datanode.yaml'), 'datanode.yaml', datanodeConfigSchema);
    parseConfig(load('placedriver.yaml'), 'placedriver.yaml', placedriverConfigSchema);
    parseConfig(load('placedriver-etcd.yaml'), 'placedriver-etcd.yaml', placedriverConfigSchema);
  });
});
