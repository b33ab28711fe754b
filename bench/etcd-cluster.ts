/** Three etcd nodes as they come, on one machine. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run, Server } from '../tools/children.ts';
import { freePorts } from './ports.ts';
import type { Running } from './system.ts';

export interface RunningEtcd extends Running {
  readonly endpoints: readonly string[];
  readonly leader: string;
}

interface EndpointStatus {
  readonly Endpoint: string;
  readonly Status: {
    readonly leader: number;
    readonly version: string;
    readonly header: { readonly member_id: number };
  };
}

const NODES = [0, 1, 2] as const;

export async function startEtcd(directory: string): Promise<RunningEtcd> {
  const first = await freePorts(NODES.length * 2);
  const address = (node: number) => `127.0.0.1:${first + node}`;
  const peerUrl = (node: number) => `http://127.0.0.1:${first + NODES.length + node}`;
  const endpoints = NODES.map(address);
  const members = NODES.map((node) => `etcd${node + 1}=${peerUrl(node)}`).join(',');
  mkdirSync(join(directory, 'etcd'));
  const servers = NODES.map((node) => {
    const name = `etcd${node + 1}`;
    const clientUrl = `http://${address(node)}`;
    const args = ['--name', name, '--data-dir', join(directory, 'etcd', name)];
    args.push('--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl);
    args.push('--listen-peer-urls', peerUrl(node), '--initial-advertise-peer-urls', peerUrl(node));
    args.push('--initial-cluster', members, '--log-level', 'error');
    return new Server(name, 'etcd', args, { endsWithUs: true });
  });
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    for (const server of servers) {
      await server.until(30_000, 'all members are healthy', () => healthy(endpoints));
    }
    const statuses = await statusOf(endpoints);
    const led = statuses.find(({ Status }) => Status.leader === Status.header.member_id);
    if (led === undefined) throw new Error('etcd has no leader');
    return {
      endpoints,
      leader: led.Endpoint,
      version: led.Status.version,
      fsync:
        'fdatasync of the write-ahead log on a quorum of the 3 nodes before the answer (default)',
      processes: servers.map((server) => ({ name: server.name, pid: server.pid })),
      check: () => {
        for (const server of servers) server.check();
      },
      stop,
    };
  } catch (failure) {
    await stop();
    throw failure;
  }
}

export function etcdctl(endpoints: readonly string[], args: readonly string[], timeoutMs: number) {
  const all = ['--endpoints', endpoints.join(','), ...args];
  return run('etcdctl', all, { timeoutMs, env: { ETCDCTL_API: '3' } });
}

async function healthy(endpoints: readonly string[]): Promise<boolean> {
  return (await etcdctl(endpoints, ['endpoint', 'health'], 20_000)).code === 0;
}

async function statusOf(endpoints: readonly string[]): Promise<readonly EndpointStatus[]> {
  const { stdout } = await etcdctl(endpoints, ['endpoint', 'status', '-w', 'json'], 20_000);
  return JSON.parse(stdout) as readonly EndpointStatus[];
}
