/**
 * The data directory of `kvorum start`: a mark that says whose it is, one config file and one
 * folder per process, run files and logs. A directory without our mark is never deleted.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { KvorumError, messageOf } from '../common/errors.ts';

const MARK = 'kvorum-cluster.json';
const FORMAT = 1;

export interface StartOptions {
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly data: string;
  readonly port: number;
  readonly clusterPort: number;
  readonly httpPort: number;
  readonly fresh: boolean;
  readonly restart: boolean;
}

export interface ProcessPlan {
  readonly name: string;
  readonly role: 'placedriver' | 'datanode';
  readonly config: string;
  readonly runFile: string;
  readonly logFile: string;
  readonly ports: Readonly<Record<string, number>>;
}

interface Mark {
  readonly kvorum: number;
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly ports: PortPlan;
}

interface PortPlan {
  readonly meta: number;
  readonly http: number;
  readonly datanodes: readonly {
    readonly gateway: number;
    readonly cluster: number;
    readonly transport: number;
    readonly http: number;
  }[];
}

/** Creates or reopens the directory; writes the config files; checks that every port is free. */
export async function prepareDirectory(options: StartOptions): Promise<readonly ProcessPlan[]> {
  const { data } = options;
  if (options.fresh) clear(data);
  const mark = readMark(data) ?? (await createMark(options));
  refuseOtherShape(mark, options);
  const ports = await choosePorts(mark.ports, options);
  await requireFree(ports);
  saveMark(data, { ...mark, ports });
  return writeConfigs(data, mark, ports);
}

function clear(data: string): void {
  if (!existsSync(data) || readdirSync(data).length === 0) return;
  if (!existsSync(join(data, MARK))) {
    throw new KvorumError(
      'BAD_CONFIG',
      `--fresh deletes only directories made by kvorum start, and ${data} has no ${MARK}; ` +
        'choose another --data, or remove it yourself',
    );
  }
  rmSync(data, { recursive: true });
}

function readMark(data: string): Mark | undefined {
  const path = join(data, MARK);
  if (!existsSync(data)) return undefined;
  if (!existsSync(path)) {
    if (readdirSync(data).length === 0) return undefined;
    throw new KvorumError(
      'BAD_CONFIG',
      `${data} is not empty and was not made by kvorum start; choose another --data`,
    );
  }
  let mark: Mark;
  try {
    mark = JSON.parse(readFileSync(path, 'utf8')) as Mark;
  } catch (cause) {
    throw new KvorumError('BAD_CONFIG', `${path} is damaged (${messageOf(cause)}); restore it`);
  }
  if (mark.kvorum !== FORMAT) {
    throw new KvorumError(
      'BAD_CONFIG',
      `${data} has format ${mark.kvorum}, this build reads ${FORMAT}; ` +
        'use the matching version of kvorum, or --fresh to begin anew (deletes the data)',
    );
  }
  return mark;
}

async function createMark(options: StartOptions): Promise<Mark> {
  const { data, nodes, partitions, replicas } = options;
  try {
    makeDirs(data);
    writeFileSync(join(data, '.writable'), '');
    rmSync(join(data, '.writable'));
  } catch (cause) {
    throw new KvorumError(
      'BAD_CONFIG',
      `cannot write to ${data}: ${messageOf(cause)}; choose another --data or mend its rights`,
    );
  }
  const ports = await planPorts(options);
  return { kvorum: FORMAT, nodes, partitions, replicas, ports };
}

/** Parents first, one by one: node's recursive mkdir never returns below /proc. */
function makeDirs(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const directory of missing) mkdirSync(directory);
}

function saveMark(data: string, mark: Mark): void {
  writeFileSync(join(data, MARK), `${JSON.stringify(mark, null, 2)}\n`);
}

function refuseOtherShape(mark: Mark, options: StartOptions): void {
  for (const key of ['nodes', 'partitions', 'replicas'] as const) {
    if (mark[key] === options[key]) continue;
    throw new KvorumError(
      'BAD_CONFIG',
      `${options.data} holds a cluster with --${key} ${mark[key]}, not ${options[key]}; ` +
        `start it with --${key} ${mark[key]}, choose another --data, or --fresh (deletes it)`,
    );
  }
}

/** The doors follow the options of this start; the inner ports stay as they were made. */
async function choosePorts(kept: PortPlan, options: StartOptions): Promise<PortPlan> {
  return {
    meta: kept.meta,
    http: options.httpPort,
    datanodes: kept.datanodes.map((ports, at) => ({
      ...ports,
      gateway: options.port + at,
      cluster: options.clusterPort + at,
    })),
  };
}

/** Inner ports: near the doors when free there, else any free one. */
async function planPorts(options: StartOptions): Promise<PortPlan> {
  const taken = new Set<number>();
  const choose = async (wanted: number) => {
    const port = await freePortNear(wanted, taken);
    taken.add(port);
    return port;
  };
  const meta = await choose(options.httpPort + 1);
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

async function requireFree(ports: PortPlan): Promise<void> {
  const wanted: [port: number, option: string][] = [
    [ports.http, '--http-port'],
    [ports.meta, '--http-port'],
  ];
  for (const node of ports.datanodes) {
    wanted.push([node.gateway, '--port'], [node.cluster, '--cluster-port']);
    wanted.push([node.transport, '--data'], [node.http, '--data']);
  }
  for (const [port, option] of wanted) {
    if (await isFree(port)) continue;
    throw new KvorumError(
      'BAD_CONFIG',
      `port ${port} is taken by another program; stop it or choose another ${option}`,
    );
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}

function writeConfigs(data: string, mark: Mark, ports: PortPlan): readonly ProcessPlan[] {
  const plans: ProcessPlan[] = [];
  const write = (
    name: string,
    role: ProcessPlan['role'],
    own: Readonly<Record<string, number>>,
    rest: object,
  ) => {
    const plan = {
      name,
      role,
      config: join(data, `${name}.yaml`),
      runFile: join(data, 'run', `${name}.json`),
      logFile: join(data, 'log', `${name}.log`),
      ports: own,
    };
    const config = {
      name,
      'data-dir': join(data, name),
      host: '127.0.0.1',
      ...rest,
      'run-file': plan.runFile,
      log: { level: 'info', file: plan.logFile },
    };
    const heading = `# Written by kvorum start. Run alone: kvorum ${role} --config ${plan.config}\n`;
    writeFileSync(plan.config, heading + stringify(config));
    plans.push(plan);
  };
  const { nodes, partitions, replicas } = mark;
  write(
    'placedriver1',
    'placedriver',
    { http: ports.http, meta: ports.meta },
    {
      ports: { http: ports.http },
      meta: { embedded: { port: ports.meta } },
      default: { nodes, partitions, replicas },
    },
  );
  ports.datanodes.forEach((own, at) => {
    write(`datanode${at + 1}`, 'datanode', own, {
      ports: own,
      meta: { endpoints: [`http://127.0.0.1:${ports.meta}`] },
    });
  });
  return plans;
}
