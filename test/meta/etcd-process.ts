/** A real etcd of this test: its own directory and ports, ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface EtcdProcess {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startEtcd(): Promise<EtcdProcess> {
  const [client, peer] = [await freePort(), await freePort()];
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-etcd-'));
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const child = spawn(
    'etcd',
    [
      ...['--data-dir', dir, '--name', 'test', '--log-level', 'error'],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `test=${peerUrl}`],
    ],
    { stdio: 'ignore' },
  );
  await untilHealthy(url, child);
  return {
    url,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = new Error(`etcd does not start: ${error.message}; install etcd-server`);
  });
  child.once('exit', (code) => {
    failure ??= new Error(`etcd ended with ${code}`);
  });
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    if (failure) throw failure;
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok && (await answer.text()).includes('true')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill('SIGKILL');
  throw new Error('etcd is not healthy after 20 s');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
