import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { prepareDirectory } from '../../src/cli/cluster-dir.ts';
import { checkEtcd, parseEtcdFiles, parseEtcdUrls } from '../../src/cli/etcd-flag.ts';
import { makeDirs } from '../../src/cli/places.ts';
import { writeChecked } from '../../src/common/checked-file.ts';
import { systemClock } from '../../src/common/clock.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { systemRandom } from '../../src/common/random.ts';
import { startEmbeddedStore } from '../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { encodeRecord, keys, SCHEMA_VERSION } from '../../src/meta/schema.ts';
import { authority, issued, issuedToClient, writeFiles } from '../common/tls/made-certificates.ts';
import { freePorts } from '../ports.ts';

describe('--etcd', () => {
  test('is taken by the rules of meta.endpoints, each member once', () => {
    expect(parseEtcdUrls('http://a:1/, b:2,http://a:1')).toEqual(['http://a:1', 'http://b:2']);
    expect(parseEtcdUrls('https://[::1]:2379')).toEqual(['https://[::1]:2379']);
  });

  test.each([
    ['http://a', /--etcd http:\/\/a: each must be an address as .* port/],
    ['http://a:1,', /--etcd http:\/\/a:1,: each must be an address/],
    ['http://a:99999', /from 1 to 65535/],
    ['http://a:1,https://b:1', /must be either all http or all https/],
  ])('%s is refused', (text, message) => {
    expect(() => parseEtcdUrls(text)).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG', message: expect.stringMatching(message) }),
    );
  });
});

describe('--etcd-ca, --etcd-cert and --etcd-key', () => {
  const secure = ['https://a:1'];

  test('are whole paths in the configurations', () => {
    expect(parseEtcdFiles({ etcdCa: 'x/ca.crt' }, secure, true)).toEqual({
      'ca-file': resolve('x/ca.crt'),
    });
    expect(parseEtcdFiles({}, secure, false)).toEqual({});
    expect(parseEtcdFiles({}, undefined, true)).toEqual({});
  });

  test.each([
    ['without --etcd', undefined, false],
    ['over http', ['http://a:1'], true],
  ])('are refused %s', (_, urls, tls) => {
    expect(() => parseEtcdFiles({ etcdKey: 'x' }, urls, tls)).toThrow(/are for --etcd https/);
  });

  test('an authority of its own does not stand in for that of etcd', () => {
    expect(() => parseEtcdFiles({}, secure, true)).toThrow(/with --tls .* needs --etcd-ca/);
  });
});

test('an etcd over TLS is asked with the files of the flags, and so are the processes to', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kvorum-etcd-flag-'));
  const [served, shown] = [issued(), issuedToClient('cluster')];
  writeFiles(root, 'ca', authority);
  writeFiles(root, 'app', shown);
  const current = { ...served, authorities: authority.certificate };
  const etcd = await startEmbeddedStore({
    ...{ clock: systemClock, random: systemRandom(), logger: silentLogger },
    ...{ disk: fsDisk, dir: join(root, 'etcd'), listen: { host: '127.0.0.1', port: 0 } },
    tls: { current, onRenewed: () => () => {} },
    onFailure() {},
  });
  const data = join(root, 'data');
  const file = (name: string) => join(root, name);
  const flags = { etcdCa: file('ca.crt'), etcdCert: file('app.crt'), etcdKey: file('app.key') };
  const files = parseEtcdFiles(flags, [etcd.url], true);
  const use = { urls: [etcd.url], data, reopened: false, fresh: false, say: () => {} };
  await checkEtcd({ ...use, files });
  await expect(checkEtcd(use)).rejects.toThrow(/a new cluster needs its etcd.*certificate/);
  const missing = { ...files, 'key-file': file('no.key') };
  await expect(checkEtcd({ ...use, files: missing })).rejects.toThrow(
    /--etcd-key: .*cannot be read/,
  );
  const doors = await freePorts(1);
  const plans = await prepareDirectory({
    ...{ nodes: 1, partitions: 1, replicas: 1, data, etcd: [etcd.url], etcdFiles: files },
    ...{ port: doors.gateway, clusterPort: doors.cluster, httpPort: doors.http },
    ...{ fresh: false, restart: true, tls: true },
  });
  for (const { config } of plans) {
    expect(parse(readFileSync(config, 'utf8')).meta).toEqual({ endpoints: [etcd.url], ...files });
  }
  await etcd.close();
  rmSync(root, { recursive: true });
});

test('--fresh while etcd goes away between check and erasure: it can be repeated', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kvorum-etcd-flag-'));
  const world = { clock: systemClock, random: systemRandom(), logger: silentLogger };
  const serve = (port: number) =>
    startEmbeddedStore({
      ...{ ...world, disk: fsDisk, dir: join(root, 'etcd') },
      listen: { host: '127.0.0.1', port },
      onFailure: (failure) => expect.fail(failure.message),
    });
  let etcd = await serve(0);
  const { url, port } = etcd;
  const store = connectEtcd({ ...world, urls: [url] });
  const cluster = { version: SCHEMA_VERSION, clusterId: '0123456789abcdef', createdMs: 1 };
  await store.put(keys.cluster, encodeRecord(cluster));
  await store.put(`${keys.root}partitions/default/00000`, 'the old table');
  const doors = await freePorts(1);
  const data = join(root, 'data');
  const options = {
    ...{ nodes: 1, partitions: 1, replicas: 1, data, etcd: [url], restart: true },
    ...{ port: doors.gateway, clusterPort: doors.cluster, httpPort: doors.http },
  };
  await prepareDirectory({ ...options, fresh: false });
  const identity = join(data, 'datanode1', 'identity');
  makeDirs(join(data, 'datanode1'));
  const who = { ...cluster, node: 'datanode1', incarnation: 'i1' };
  await writeChecked(fsDisk, identity, who);

  const use = { urls: [url], data, reopened: false, fresh: true, say: () => {} };
  const erase = await checkEtcd(use);
  await etcd.close();
  const fresh = { ...options, fresh: true };
  await expect(prepareDirectory(fresh, erase)).rejects.toThrow('metadata store');
  etcd = await serve(port);
  await prepareDirectory(fresh, await checkEtcd(use));
  expect((await store.range(keys.root)).items).toEqual([]);
  expect(existsSync(identity)).toBe(false);
  await store.close();
  await etcd.close();
  rmSync(root, { recursive: true });
});
