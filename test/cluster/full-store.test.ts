/** A placedriver whose metadata store cannot be written: it ends, and comes back with what it answered. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { connectEtcd } from '../../src/meta/etcd.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { world } from '../meta/served.ts';
import { freePorts, freeStorePort } from '../ports.ts';
import { kvorum } from './cluster.ts';

let dir: string;
let store: MetaStore | undefined;
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-full-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await store?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** With `fileKib` no file of the process may grow further: a write beyond fails, as on a full disk. */
function start(config: string, fileKib?: number) {
  const limit = fileKib === undefined ? '' : `ulimit -f ${fileKib}; `;
  const line = `${limit}exec "$0" "$1" placedriver --config "$2" --life-line`;
  const child = spawn('bash', ['-c', line, process.execPath, kvorum, config], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  children.push(child);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise<{ signal: string | null; said: string }>((resolve) =>
    child.once('close', (_code, signal) => resolve({ signal, said })),
  );
  return ended;
}

test('it says why once, ends, and serves what it had answered when it is started again', async () => {
  const port = await freeStorePort();
  const { http } = await freePorts(1);
  const config = join(dir, 'placedriver1.yaml');
  const fields = { name: 'placedriver1', host: '127.0.0.1', 'data-dir': join(dir, 'data') };
  writeFileSync(config, stringify({ ...fields, ports: { http }, meta: { embedded: { port } } }));
  const url = `http://127.0.0.1:${port}`;
  const client = connectEtcd({ ...world, urls: [url] });
  store = client;
  const ended = start(config, 256);
  await expect
    .poll(() => client.put('/x/0', 'v').catch(() => 0), { timeout: 30_000 })
    .toBeGreaterThan(0);
  let answered = 0;
  const fill = async () => {
    for (let at = 1; at < 100; at++) {
      await client.put(`/x/${at}`, 'v'.repeat(20_000));
      answered = at;
    }
  };
  await expect(fill()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  const { signal, said } = await ended;
  expect(signal).toBe('SIGKILL');
  expect(said).toMatch(
    /^kvorum: metadata store in \S+meta: writing failed \(EFBIG.*any more; raise the limit of the size of files.*ulimit -f.*\n$/,
  );
  start(config);
  await expect
    .poll(() => client.get(`/x/${answered}`).catch(() => undefined), { timeout: 30_000 })
    .toMatchObject({ value: 'v'.repeat(20_000) });
  await client.put('/x/100', 'v');
});
