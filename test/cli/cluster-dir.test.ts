import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { prepareDirectory, type StartOptions } from '../../src/cli/cluster-dir.ts';
import { loadConfig } from '../../src/cli/config-file.ts';
import { writeRunFile } from '../../src/cli/run-file.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { placedriverConfigSchema } from '../../src/placedriver/config.ts';
import { freePorts, freeZanPort } from '../ports.ts';

let root: string;
let data: string;
let options: StartOptions;
const servers: Server[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'kvorum-dir-'));
  data = join(root, 'deep', 'data');
  const ports = await freePorts(3);
  options = {
    ...{ nodes: 3, partitions: 4, replicas: 3, data, fresh: false, restart: true },
    ...{ port: ports.gateway, clusterPort: ports.cluster, httpPort: ports.http },
  };
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(root, { recursive: true, force: true });
});

const mark = () => join(data, 'kvorum-cluster.json');
const prepare = (own: Partial<StartOptions> = {}) => prepareDirectory({ ...options, ...own });

async function occupy(port: number): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

describe('a new directory', () => {
  test('gets a mark and one valid config file per process', async () => {
    const plans = await prepare();
    const names = ['placedriver1', 'datanode1', 'datanode2', 'datanode3'];
    expect(plans.map((plan) => plan.name)).toEqual(names);
    expect(JSON.parse(readFileSync(mark(), 'utf8'))).toMatchObject({ nodes: 3, replicas: 3 });
    const driver = loadConfig(plans[0]!.config, placedriverConfigSchema);
    expect(driver.default).toMatchObject({ nodes: 3, partitions: 4, replicas: 3 });
    plans.slice(1).forEach((plan, at) => {
      const config = loadConfig(plan.config, datanodeConfigSchema);
      expect(config.name).toBe(plan.name);
      expect(config.ports.gateway).toBe(options.port + at);
      expect(config.ports.cluster).toBe(options.clusterPort + at);
      expect(config['run-file']).toBe(plan.runFile);
    });
    const ports = plans.flatMap((plan) => Object.values(plan.ports));
    expect(new Set(ports).size).toBe(ports.length);
  });

  test('keeps its inner ports over starts, while the doors follow the options', async () => {
    const first = await prepare();
    const doors = await freePorts(3);
    const second = await prepare({ port: doors.gateway });
    expect(second[1]!.ports).toEqual({ ...first[1]!.ports, gateway: doors.gateway });
    expect(second[0]!.ports).toEqual(first[0]!.ports);
  });

  test('has ports for ZanRedisDB’s clients in the starts that ask for them', async () => {
    const zanPort = await freeZanPort(3);
    const configs = (plans: Awaited<ReturnType<typeof prepare>>) =>
      plans.slice(1).map(({ config }) => loadConfig(config, datanodeConfigSchema));
    const plans = await prepare({ zanPort });
    expect(configs(plans).map(({ zan }) => zan?.port)).toEqual([0, 1, 2].map((at) => zanPort + at));
    expect(plans[1]!.ports['zan']).toBe(zanPort);
    const without = await prepare();
    expect(configs(without).map(({ zan }) => zan)).toEqual([undefined, undefined, undefined]);
    await occupy(zanPort + 2);
    await expect(prepare({ zanPort })).rejects.toThrow('--zan-port');
  });

  test('gives no inner port to a door that is named next to another', async () => {
    const plans = await prepare({ httpPort: options.port - 1 });
    expect(plans[0]!.ports['meta']).not.toBe(options.port);
  });

  test('may be one that a start left empty before its mark', async () => {
    mkdirSync(data, { recursive: true });
    writeFileSync(`${mark()}.new`, '{"kvo');
    writeFileSync(join(data, '.writable'), '');
    await prepare();
    expect(JSON.parse(readFileSync(mark(), 'utf8'))).toMatchObject({ kvorum: 1 });
  });
});

test('a mark is replaced as a whole: a start that is killed leaves one of them', async () => {
  await prepare();
  const { ino } = statSync(mark());
  // the file of before is not given its number while it is open
  const held = openSync(mark(), 'r');
  try {
    await prepare();
    expect(statSync(mark()).ino).not.toBe(ino);
  } finally {
    closeSync(held);
  }
});

describe('--fresh', () => {
  test('deletes what bears our mark', async () => {
    await prepare();
    writeFileSync(join(data, 'old'), 'data');
    await prepare({ fresh: true, partitions: 8 });
    expect(existsSync(join(data, 'old'))).toBe(false);
    expect(JSON.parse(readFileSync(mark(), 'utf8'))).toMatchObject({ partitions: 8 });
  });

  test('forgets nothing before the cluster is erased elsewhere: it can be repeated', async () => {
    await prepare();
    const old = join(data, 'datanode1');
    mkdirSync(old);
    const fails = () => Promise.reject(new Error('etcd is away'));
    await expect(prepareDirectory({ ...options, fresh: true }, fails)).rejects.toThrow('is away');
    expect(existsSync(old) && existsSync(mark())).toBe(true);
    const seen: boolean[] = [];
    await prepareDirectory({ ...options, fresh: true }, async () => {
      seen.push(existsSync(old));
    });
    expect(seen).toEqual([true]);
    expect(existsSync(old)).toBe(false);
    await prepareDirectory(options, fails); // nothing is erased without --fresh
  });

  test('leaves alone what does not', async () => {
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'precious'), 'data');
    await expect(prepare({ fresh: true })).rejects.toThrow(/deletes only directories made by/);
    expect(readdirSync(data)).toEqual(['precious']);
  });

  test('leaves alone a cluster that runs', async () => {
    const [driver] = await prepare();
    const port = await occupy(0);
    const run = { name: 'placedriver1', role: 'placedriver', host: '127.0.0.1' } as const;
    writeRunFile(driver!.runFile, { ...run, pid: process.pid, ports: { http: port } });
    const erase = () => Promise.reject(new Error('erased a cluster that runs'));
    await expect(prepareDirectory({ ...options, fresh: true }, erase)).rejects.toThrow(
      `${data} is in use: placedriver1 runs as process ${process.pid}; stop it`,
    );
    expect(existsSync(driver!.config)).toBe(true);
    await new Promise((resolve) => servers.pop()!.close(resolve));
    await prepare({ fresh: true });
    expect(existsSync(driver!.runFile)).toBe(false);
  });
});

describe('a start is refused with cause and remedy', () => {
  test('on a directory of something else, or a file', async () => {
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'precious'), 'data');
    await expect(prepare()).rejects.toThrow(/is not empty and was not made by.*another --data/);
    const file = join(data, 'precious');
    for (const fresh of [false, true]) {
      await expect(prepare({ data: file, fresh })).rejects.toThrow(/is not a directory; choose/);
    }
    expect(readFileSync(file, 'utf8')).toBe('data');
  });

  test.each([
    ['nodes', 1],
    ['partitions', 5],
    ['replicas', 1],
  ] as const)('on a cluster of another shape: --%s', async (key, value) => {
    await prepare();
    const kept = options[key];
    await expect(prepare({ [key]: value })).rejects.toThrow(
      `holds a cluster with --${key} ${kept}, not ${value}; start it with --${key} ${kept}`,
    );
  });

  const etcd = ['http://127.0.0.1:1'];

  test.each([
    ['in etcd', { etcd }, {}, `start it with --etcd ${etcd[0]}, choose another`],
    ['in the embedded store', {}, { etcd }, 'start it without --etcd, choose another'],
  ] as const)('on a cluster whose metadata is %s', async (place, first, second, remedy) => {
    await prepare(first);
    const before = readFileSync(mark(), 'utf8');
    await expect(prepare(second)).rejects.toThrow(
      `${data} holds a cluster whose metadata is ${place}; ${remedy}`,
    );
    expect(readFileSync(mark(), 'utf8')).toBe(before);
  });

  test.each([
    ['of another format', '{"kvorum": 99}', /format 99, this build reads 1; use the matching/],
    ['of an earlier format', '{"kvorum": 0}', /format 0, this build reads 1; use the matching/],
    ['that is cut', '{"kvorum": 1, "no', /kvorum-cluster\.json is damaged .*restore it/],
    ['that is nothing', 'null', /is damaged .*restore it/],
    ['without its ports', '{"kvorum": 1, "nodes": 3}', /is damaged .*restore it/],
  ])('on a mark %s', async (_what, text, message) => {
    mkdirSync(data, { recursive: true });
    writeFileSync(mark(), text);
    await expect(prepare()).rejects.toThrow(message);
    expect(readFileSync(mark(), 'utf8')).toBe(text);
  });

  test('where nothing can be written', async () => {
    await expect(prepare({ data: '/proc/kvorum/data' })).rejects.toThrow(
      /cannot write to \/proc\/kvorum\/data: .*choose another --data or mend its rights/,
    );
  });

  test('when a door is taken by another program', async () => {
    await occupy(options.clusterPort + 2);
    await expect(prepare()).rejects.toThrow(
      `port ${options.clusterPort + 2} is taken by another program; stop it or choose another ` +
        '--cluster-port',
    );
  });

  test('when a door is given a port that the directory keeps', async () => {
    const [driver] = await prepare();
    const { meta } = driver!.ports;
    await expect(prepare({ httpPort: meta! })).rejects.toThrow(
      `port ${meta} is wanted twice, by --http-port and --data; choose another --http-port`,
    );
  });

  test('when this very cluster runs', async () => {
    const [driver] = await prepare();
    const port = await occupy(options.httpPort);
    const run = { name: 'placedriver1', role: 'placedriver', host: '127.0.0.1' } as const;
    writeRunFile(driver!.runFile, { ...run, pid: process.pid, ports: { http: port } });
    await expect(prepare()).rejects.toThrow(
      `${data} is in use: placedriver1 runs as process ${process.pid}; stop it first, or choose ` +
        'another --data',
    );
  });

  test('when two doors overlap', async () => {
    await expect(prepare({ clusterPort: options.port + 1 })).rejects.toThrow(
      `port ${options.port + 1} is wanted twice, by --cluster-port and --port`,
    );
  });
});
