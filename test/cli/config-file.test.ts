import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/cli/config-file.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { placedriverConfigSchema } from '../../src/placedriver/config.ts';

const minimal = `
name: n1
data-dir: /tmp/n1
ports: {}
meta: { endpoints: ["http://127.0.0.1:2379"] }
`;

const endpoints = (...urls: string[]) =>
  minimal.replace('["http://127.0.0.1:2379"]', JSON.stringify(urls));

describe('configuration files', () => {
  test('need little and have right defaults', () => {
    const config = parseConfig(minimal, 'n1.yaml', datanodeConfigSchema);
    expect(config.ports.gateway).toBe(6379);
    expect(config.timing['election-ticks']).toBe(10);
  });

  test('take the addresses of a store as the connection needs them, each once', () => {
    const text = endpoints('http://a:1/', 'http://[::1]:2379', 'a:1');
    expect(parseConfig(text, 'n1.yaml', datanodeConfigSchema).meta.endpoints).toEqual([
      'http://a:1',
      'http://[::1]:2379',
    ]);
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
    ['brackets without end', '['.repeat(100_000), /n1\.yaml:1:33: nested deeper than 32/],
    ['dashes without end', `a:\n${'- '.repeat(1_000)}`, /n1\.yaml:2:65: nested deeper than 32/],
    ['an alias of nothing', 'name: *n', /n1\.yaml: Unresolved alias/],
    ['an unknown tag', 'name: !x n1', /n1\.yaml:1:7: Unresolved tag: !x/],
    ['an address that is none', minimal.replace('http:', 'ftp:'), /meta\.endpoints\.0: an address/],
    ['a store without a port', endpoints('http://a'), /meta\.endpoints\.0: an address as .* port/],
    ['a port that is none', endpoints('a:1', 'a:99999'), /meta\.endpoints\.1: .*1 to 65535/],
    ['any port of a store', endpoints('http://a:0'), /meta\.endpoints\.0: .*1 to 65535/],
    ['two schemes', endpoints('http://a:1', 'https://b:1'), /meta\.endpoints: either all http/],
    [
      'TLS without a key',
      `${minimal}tls: { clients: required, cert-file: n1.crt }\n`,
      /tls: TLS needs both cert-file and key-file/,
    ],
    [
      'a port for two doors',
      minimal.replace('{}', '{ http: 1, cluster: 1 }'),
      /ports: cluster and http/,
    ],
    [
      'a port for a door and the clients of ZanRedisDB',
      `${minimal}zan: { port: 7001 }\n`,
      /zan\.port: is the same as ports\.cluster: choose another one/,
    ],
    [
      'to clients the address ::',
      `${minimal}announce: { host: "::" }\n`,
      /announce\.host: :: is no address that others can reach: put it in `listen`/,
    ],
    [
      'a cache beyond 32 bits',
      `${minimal}limits: { engine-cache-bytes: 4294967296 }`,
      /engine-cache/,
    ],
    [
      'a period no timer takes',
      `${minimal}timing: { max-clock-skew-ms: 4e9 }`,
      /max-clock-skew-ms/,
    ],
    [
      'heartbeats as rare as elections',
      `${minimal}timing: { election-ticks: 3, heartbeat-ticks: 3 }`,
      /timing\.heartbeat-ticks: must be less/,
    ],
  ])('with %s say file, place and what is wrong', (_what, text, message) => {
    expect(() => parseConfig(text, 'n1.yaml', datanodeConfigSchema)).toThrow(message);
  });

  test.each(['0.0.0.0', '::', '0', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0'])(
    'tell nobody to connect to %s, where all may listen',
    (host) => {
      const datanode = (field: string) => {
        const text = `${minimal}${field}: ${JSON.stringify(host)}\n`;
        return () => parseConfig(text, 'n1.yaml', datanodeConfigSchema);
      };
      const refusal = /: host: .* is no address that others can reach: put it in `listen`/;
      expect(datanode('host')).toThrow(refusal);
      expect(datanode('listen')().listen).toBe(host);
      const text = `name: p\ndata-dir: d\nmeta: { embedded: { port: 1 } }\nhost: "${host}"\n`;
      expect(() => parseConfig(text, 'p.yaml', placedriverConfigSchema)).toThrow(refusal);
    },
  );

  test.each([
    ['two stores', '{ embedded: { port: 1 }, endpoints: ["a:1"] }', /meta: needs either endpoints/],
    ['a wrong port of the store', '{ embedded: { port: x } }', /meta\.embedded\.port: /],
    ['the port of another', '{ embedded: { port: 18001 } }', /meta\.embedded\.port: is the same/],
    [
      'more replicas than nodes',
      '{ endpoints: ["a:1"] }\ndefault: { nodes: 1 }',
      /default\.replicas: cannot be more than default\.nodes/,
    ],
  ])('of a placedriver with %s say so', (_what, meta, message) => {
    const text = `name: p\ndata-dir: d\nmeta: ${meta}\n`;
    expect(() => parseConfig(text, 'p.yaml', placedriverConfigSchema)).toThrow(message);
  });

  test('may leave any port to be chosen for several doors', () => {
    const text = `${minimal.replace('{}', '{ http: 0, cluster: 0 }')}zan: { port: 0 }\n`;
    expect(parseConfig(text, 'n1.yaml', datanodeConfigSchema).zan).toEqual({ port: 0 });
  });

  test('are read no further than a configuration is long', () => {
    expect(() => loadConfig('/dev/zero', datanodeConfigSchema)).toThrow(
      /\/dev\/zero: longer than 262144 bytes/,
    );
    expect(() => loadConfig('/dev', datanodeConfigSchema)).toThrow(/cannot read \/dev: EISDIR/);
  });

  test('in configs/ are valid', () => {
    const load = (name: string) =>
      readFileSync(new URL(`../../configs/${name}`, import.meta.url), 'utf8');
    for (const name of ['datanode.yaml', 'three-machines/datanode.yaml']) {
      parseConfig(load(name), name, datanodeConfigSchema);
    }
    const drivers = [
      'placedriver.yaml',
      'placedriver-etcd.yaml',
      'three-machines/placedriver.yaml',
    ];
    for (const name of drivers) parseConfig(load(name), name, placedriverConfigSchema);
  });
});
