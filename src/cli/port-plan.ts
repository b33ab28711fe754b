/**
 * The ports of `kvorum start`. The doors (gateway, cluster, http) follow the options of each start;
 * the inner ports are chosen once, when the directory is made, and stay.
 */
import { createServer } from 'node:net';
import { KvorumError } from '../common/errors.ts';

export interface DoorOptions {
  readonly nodes: number;
  readonly port: number;
  readonly clusterPort: number;
  readonly httpPort: number;
  readonly zanPort?: number;
}

export interface PortPlan {
  /** Of the embedded store; absent when the metadata is in etcd. */
  readonly meta?: number | undefined;
  readonly http: number;
  readonly datanodes: readonly {
    readonly gateway: number;
    readonly cluster: number;
    readonly transport: number;
    readonly http: number;
    readonly zan?: number;
  }[];
}

/** The doors follow the options of this start; the inner ports stay as they were made. */
export function choosePorts(kept: PortPlan, options: DoorOptions): PortPlan {
  return {
    meta: kept.meta,
    http: options.httpPort,
    datanodes: kept.datanodes.map((ports, at) => ({
      ...ports,
      gateway: options.port + at,
      cluster: options.clusterPort + at,
      ...(options.zanPort !== undefined && { zan: options.zanPort + at }),
    })),
  };
}

/** Inner ports: near the doors when free there, else any free one. */
export async function planPorts(
  options: DoorOptions & { readonly embedded: boolean },
): Promise<PortPlan> {
  const taken = new Set([options.httpPort]);
  for (let at = 0; at < options.nodes; at++) {
    taken.add(options.port + at).add(options.clusterPort + at);
    if (options.zanPort !== undefined) taken.add(options.zanPort + at);
  }
  const choose = async (wanted: number) => {
    const port = await freePortNear(wanted, taken);
    taken.add(port);
    return port;
  };
  const meta = options.embedded ? await choose(options.httpPort + 1) : undefined;
  const datanodes: PortPlan['datanodes'][number][] = [];
  for (let at = 0; at < options.nodes; at++) {
    datanodes.push({
      gateway: options.port + at,
      cluster: options.clusterPort + at,
      transport: await choose(options.clusterPort + 10_000 + at),
      http: await choose(options.clusterPort + 20_000 + at),
    });
  }
  return { meta, http: options.httpPort, datanodes };
}

async function freePortNear(wanted: number, taken: ReadonlySet<number>): Promise<number> {
  const lowest = 10_000;
  const count = 22_000; // below the range that systems use for outgoing connections
  for (let tried = 0; tried < 512; tried++) {
    const port = tried === 0 ? wanted : lowest + ((wanted + tried * 7_919) % count);
    if (port <= 65_535 && !taken.has(port) && (await isFree(port))) return port;
  }
  throw new KvorumError('BAD_CONFIG', 'no free port found for the inner connections');
}

/** Throws BAD_CONFIG, naming the option, when a port is wanted twice or taken. */
export async function requireFree(ports: PortPlan): Promise<void> {
  const wanted: [port: number, option: string][] = [[ports.http, '--http-port']];
  if (ports.meta !== undefined) wanted.push([ports.meta, '--http-port']);
  for (const node of ports.datanodes) {
    wanted.push([node.gateway, '--port'], [node.cluster, '--cluster-port']);
    if (node.zan !== undefined) wanted.push([node.zan, '--zan-port']);
    wanted.push([node.transport, '--data'], [node.http, '--data']);
  }
  const options = new Map<number, string>();
  for (const [port, option] of wanted) {
    const other = options.get(port);
    if (other !== undefined) {
      throw new KvorumError(
        'BAD_CONFIG',
        `port ${port} is wanted twice, by ${other} and ${option}; choose another ${option}`,
      );
    }
    options.set(port, option);
    if (await isFree(port)) continue;
    throw new KvorumError(
      'BAD_CONFIG',
      `port ${port} is taken by another program; stop it or choose another ${option}`,
    );
  }
}

/** True when nothing on this machine listens on loopback's `port`. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
