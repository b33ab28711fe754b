/**
 * The ports of `kvorum start`. The doors (gateway, cluster, http) follow the options of each start;
 * the inner ports are chosen when the directory is made, and stay: but for those that another program
 * has taken by the next start.
 */
import { createServer } from 'node:net';
import { KvorumError, systemCodeOf } from '../common/errors.ts';

export interface DoorOptions {
  readonly nodes: number;
  readonly port: number;
  readonly clusterPort: number;
  readonly httpPort: number;
  readonly zanPort?: number;
  /** First of the inner ports, three for each node; else they are derived from `clusterPort`. */
  readonly innerPort?: number;
}

export interface PortPlan {
  /** Of the embedded store; absent when the metadata is in etcd. */
  readonly meta?: number | undefined;
  readonly http: number;
  readonly datanodes: readonly {
    readonly gateway: number;
    readonly cluster: number;
    readonly follower: number;
    readonly transport: number;
    readonly http: number;
    readonly zan?: number;
  }[];
}

type NodePorts = PortPlan['datanodes'][number];

/** As an earlier start made it: older ones made no port for reads of followers. */
export interface KeptPorts extends Omit<PortPlan, 'datanodes'> {
  readonly datanodes: readonly (Omit<NodePorts, 'follower'> & {
    readonly follower?: number | undefined;
  })[];
}

/** The doors follow the options of this start; the inner ports stay as they were made, where they are free. */
export async function choosePorts(kept: KeptPorts, options: DoorOptions): Promise<PortPlan> {
  const taken = new Set([options.httpPort, ...doorPorts(options)]);
  for (const ports of kept.datanodes) for (const port of Object.values(ports)) taken.add(port ?? 0);
  const choose = async (port: number | undefined, near: number) => {
    if (port !== undefined && (await isFree(port))) return port;
    const other = await freePortNear(near, taken);
    taken.add(other);
    return other;
  };
  const meta = kept.meta && (await choose(kept.meta, options.httpPort + 1));
  const datanodes: NodePorts[] = [];
  for (const [at, ports] of kept.datanodes.entries()) {
    const near = (which: 0 | 1 | 2) => innerPort(options, at, which);
    datanodes.push({
      ...{ gateway: options.port + at, cluster: options.clusterPort + at },
      follower: await choose(ports.follower, near(0)),
      transport: await choose(ports.transport, near(1)),
      http: await choose(ports.http, near(2)),
      ...zanDoor(options, at),
    });
  }
  return { meta, http: options.httpPort, datanodes };
}

function doorPorts({ nodes, port, clusterPort, zanPort }: DoorOptions): number[] {
  return Array.from({ length: nodes }, (_, at) => [
    ...[port + at, clusterPort + at],
    ...(zanPort === undefined ? [] : [zanPort + at]),
  ]).flat();
}

function zanDoor({ zanPort }: DoorOptions, at: number): { readonly zan?: number } {
  return zanPort === undefined ? {} : { zan: zanPort + at };
}

/** Inner ports stay below the range that systems use for outgoing connections. */
const LOWEST_INNER = 10_000;
const HIGHEST_INNER = 32_000;

/** What is added to a cluster port: for reads of followers, the transport and HTTP. */
const INNER = [1_000, 10_000, 20_000] as const;

function innerPort(options: DoorOptions, at: number, which: 0 | 1 | 2): number {
  const { clusterPort, innerPort: first } = options;
  return first === undefined ? clusterPort + INNER[which] + at : first + 3 * at + which;
}

/** Inner ports: near the doors when free there, else any free one. */
export async function planPorts(
  options: DoorOptions & { readonly embedded: boolean },
): Promise<PortPlan> {
  const taken = new Set([options.httpPort, ...doorPorts(options)]);
  const choose = async (wanted: number) => {
    const port = await freePortNear(wanted, taken);
    taken.add(port);
    return port;
  };
  const meta = options.embedded ? await choose(options.httpPort + 1) : undefined;
  const datanodes: NodePorts[] = [];
  for (let at = 0; at < options.nodes; at++) {
    datanodes.push({
      gateway: options.port + at,
      cluster: options.clusterPort + at,
      follower: await choose(innerPort(options, at, 0)),
      transport: await choose(innerPort(options, at, 1)),
      http: await choose(innerPort(options, at, 2)),
    });
  }
  return { meta, http: options.httpPort, datanodes };
}

async function freePortNear(wanted: number, taken: ReadonlySet<number>): Promise<number> {
  const count = HIGHEST_INNER - LOWEST_INNER;
  for (let tried = 0; tried < 512; tried++) {
    const port = tried === 0 ? wanted : LOWEST_INNER + ((wanted + tried * 7_919) % count);
    if (port < HIGHEST_INNER && !taken.has(port) && (await isFree(port))) return port;
  }
  throw new KvorumError('BAD_CONFIG', 'no free port found for the inner connections');
}

/** What is kept in the directory: no option of a start changes it, but the next start if it is taken. */
const KEPT = '--data';

/** Throws BAD_CONFIG, naming the option that helps, when a port is wanted twice or taken. */
export async function requireFree(ports: PortPlan): Promise<void> {
  const wanted: [port: number, option: string][] = [[ports.http, '--http-port']];
  if (ports.meta !== undefined) wanted.push([ports.meta, KEPT]);
  for (const node of ports.datanodes) {
    wanted.push([node.gateway, '--port'], [node.cluster, '--cluster-port']);
    if (node.zan !== undefined) wanted.push([node.zan, '--zan-port']);
    const inner = [node.follower, node.transport, node.http];
    for (const port of inner) wanted.push([port, KEPT]);
  }
  const options = new Map<number, string>();
  for (const [port, option] of wanted) {
    const other = options.get(port);
    if (other !== undefined) {
      throw new KvorumError(
        'BAD_CONFIG',
        `port ${port} is wanted twice, by ${other} and ${option}; ` +
          `choose another ${option === KEPT ? other : option}`,
      );
    }
    options.set(port, option);
    const refusal = await refusalOf(port);
    if (refusal === undefined) continue;
    if (refusal === 'EACCES') {
      const text = `port ${port} may not be used by this user; ports from ${FIRST_OF_ALL} on may: `;
      throw new KvorumError('BAD_CONFIG', `${text}choose another ${option}`);
    }
    const remedy =
      option === KEPT
        ? 'start again, and another is chosen'
        : `stop it or choose another ${option}`;
    throw new KvorumError(
      'BAD_CONFIG',
      `port ${port} is taken by another program; ${remedy}` +
        (port < FIRST_OUTGOING ? '' : OUTGOING),
    );
  }
}

/** Lower ones are the administrator's. */
const FIRST_OF_ALL = 1_024;
/** Where Linux begins unless it is told otherwise; other systems begin higher. */
const FIRST_OUTGOING = 32_768;
const OUTGOING =
  `. From ${FIRST_OUTGOING} on systems take ports for outgoing connections: if it is one, start ` +
  'again when it has ended; lower ports are not taken so';

/** True when nothing on this machine listens on loopback's `port`. */
export async function isFree(port: number): Promise<boolean> {
  return (await refusalOf(port)) === undefined;
}

/** The system's code for why nobody can listen on loopback's `port`; undefined: one can. */
function refusalOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(systemCodeOf(error) ?? 'unknown'));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(undefined)));
  });
}
