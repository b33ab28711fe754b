/**
 * The data directory of `kvorum start`: a mark that says whose it is, one config file and one
 * folder per process, run files and logs. A directory without our mark is never deleted.
 */
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { diskRemedy, isFull } from '../common/disk-remedy.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import { makeOwnCertificates, ownFiles } from './certificates/own-certificates.ts';
import type { EtcdFiles } from './etcd-flag.ts';
import { makeDirs } from './places.ts';
import {
  choosePorts,
  isFree,
  type KeptPorts,
  type PortPlan,
  planPorts,
  requireFree,
} from './port-plan.ts';
import { isRunning, readRunFiles } from './run-file.ts';

const MARK = 'kvorum-cluster.json';
const MARK_NEW = `${MARK}.new`;
const WRITABLE = '.writable';
const FORMAT = 1;
const PLACEDRIVER = 'placedriver1';

export interface StartOptions {
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly data: string;
  readonly port: number;
  readonly clusterPort: number;
  readonly httpPort: number;
  /** The first of the ports for ZanRedisDB's clients; absent: there are none. */
  readonly zanPort?: number;
  /** The first of the inner ports, three for each datanode; absent: near the cluster ports. */
  readonly innerPort?: number;
  /** The etcd that holds the metadata; absent: the placedriver's embedded store does. */
  readonly etcd?: readonly string[];
  /** For https; of this start alone. */
  readonly etcdFiles?: EtcdFiles;
  readonly fresh: boolean;
  readonly restart: boolean;
  /** Everything speaks TLS, with certificates of the directory's own; of this start alone. */
  readonly tls?: boolean;
}

export interface ProcessPlan {
  readonly name: string;
  readonly role: 'placedriver' | 'datanode';
  readonly config: string;
  readonly runFile: string;
  readonly logFile: string;
  readonly ports: Readonly<Record<string, number>>;
}

export type PlannedProcess = Pick<ProcessPlan, 'name' | 'role' | 'logFile'>;

const port = z.number().int();
const markSchema = z.object({
  kvorum: z.literal(FORMAT),
  nodes: z.number().int(),
  partitions: z.number().int(),
  replicas: z.number().int(),
  etcd: z.array(z.string()).optional(),
  ports: z.object({
    meta: port.optional(),
    http: port,
    datanodes: z.array(
      z.object({
        ...{ gateway: port, cluster: port, transport: port, http: port },
        follower: port.optional(),
      }),
    ),
  }),
});

interface Mark {
  readonly kvorum: number;
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly etcd?: readonly string[] | undefined;
  readonly ports: KeptPorts;
}

/**
 * Creates or reopens the directory; writes the config files; checks that every port is free. With
 * --fresh `erase` deletes what is elsewhere of the directory's cluster, before who it is is forgotten.
 */
export async function prepareDirectory(
  options: StartOptions,
  erase: () => Promise<void> = async () => {},
): Promise<readonly ProcessPlan[]> {
  const { data } = options;
  refuseFile(data);
  if (options.fresh) await clear(data, erase);
  const found = readMark(data);
  if (found !== undefined) await refuseRunning(data, 'stop it first, or choose another --data');
  const kept = found ?? (await createMark(options));
  refuseOtherShape(kept, options);
  const mark = { ...kept, etcd: options.etcd };
  const ports = await choosePorts(mark.ports, options);
  await requireFree(ports);
  try {
    saveMark(data, { ...mark, ports });
    if (options.tls) makeOwnCertificates(data, processNames(mark.nodes));
    return writeConfigs(mark, ports, options);
  } catch (cause) {
    throw notWritable(data, cause);
  }
}

/** What `kvorum start` runs in a directory: nothing where it has made no cluster that can be read. */
export function plannedProcesses(data: string): readonly PlannedProcess[] {
  let nodes: number | undefined;
  try {
    nodes = readMark(data)?.nodes;
  } catch {
    // of another build, damaged, or no mark: for the next start to refuse
  }
  if (nodes === undefined) return [];
  const names = Array.from({ length: nodes }, (_, at) => datanodeName(at));
  return [
    ...names.map((name) => ({ name, role: 'datanode', logFile: logFileOf(data, name) }) as const),
    { name: PLACEDRIVER, role: 'placedriver', logFile: logFileOf(data, PLACEDRIVER) },
  ];
}

function processNames(nodes: number): readonly string[] {
  return [PLACEDRIVER, ...Array.from({ length: nodes }, (_, at) => datanodeName(at))];
}

function datanodeName(at: number): string {
  return `datanode${at + 1}`;
}

function logFileOf(data: string, name: string): string {
  return join(data, 'log', `${name}.log`);
}

/** True when this start goes on with what an earlier one made. Throws as `prepareDirectory` does. */
export function isReopened(options: StartOptions): boolean {
  refuseFile(options.data);
  const mark = options.fresh ? undefined : readMark(options.data);
  if (mark === undefined) return false;
  refuseOtherShape(mark, options);
  return true;
}

function refuseFile(data: string): void {
  if (!existsSync(data) || statSync(data).isDirectory()) return;
  throw new KvorumError('BAD_CONFIG', `${data} is not a directory; choose another --data`);
}

async function clear(data: string, erase: () => Promise<void>): Promise<void> {
  if (!existsSync(data) || isEmpty(data)) return;
  if (!existsSync(join(data, MARK))) {
    throw new KvorumError(
      'BAD_CONFIG',
      `--fresh deletes only directories made by kvorum start, and ${data} has no ${MARK}; ` +
        'choose another --data, or remove it yourself',
    );
  }
  await refuseRunning(data, 'stop it before --fresh');
  await erase();
  // The mark goes last: cut short anywhere, --fresh can be repeated.
  for (const name of readdirSync(data).filter((each) => each !== MARK)) {
    rmSync(join(data, name), { recursive: true });
  }
  rmSync(join(data, MARK));
}

/** Not every system tells one process of an id from another: only one that holds its port counts. */
async function refuseRunning(data: string, remedy: string): Promise<void> {
  for (const run of readRunFiles(data).filter(isRunning)) {
    for (const port of Object.values(run.ports ?? {})) {
      if (await isFree(port)) continue;
      throw new KvorumError(
        'BAD_CONFIG',
        `${data} is in use: ${run.name} runs as process ${run.pid}; ${remedy}`,
      );
    }
  }
}

/** Nothing but what a start that was cut short before its mark may have left. */
function isEmpty(data: string): boolean {
  return readdirSync(data).every((name) => name === WRITABLE || name === MARK_NEW);
}

function readMark(data: string): Mark | undefined {
  const path = join(data, MARK);
  if (!existsSync(data)) return undefined;
  if (!existsSync(path)) {
    if (isEmpty(data)) return undefined;
    throw new KvorumError(
      'BAD_CONFIG',
      `${data} is not empty and was not made by kvorum start; choose another --data`,
    );
  }
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw damaged(path, messageOf(cause));
  }
  const format = z.object({ kvorum: z.number() }).safeParse(found);
  if (!format.success) throw damaged(path, 'it names no format');
  if (format.data.kvorum !== FORMAT) {
    throw new KvorumError(
      'BAD_CONFIG',
      `${data} has format ${format.data.kvorum}, this build reads ${FORMAT}; ` +
        'use the matching version of kvorum, or --fresh to begin anew (deletes the data)',
    );
  }
  const mark = markSchema.safeParse(found);
  if (!mark.success) throw damaged(path, mark.error.issues[0]?.message ?? 'wrong shape');
  return mark.data;
}

function damaged(path: string, why: string): KvorumError {
  return new KvorumError(
    'BAD_CONFIG',
    `${path} is damaged (${why}); restore it, or --fresh to begin anew (deletes the data)`,
  );
}

function notWritable(data: string, cause: unknown): KvorumError {
  return new KvorumError(
    'BAD_CONFIG',
    `cannot write to ${data}: ${messageOf(cause)}; choose another --data or ` +
      (isFull(cause) ? diskRemedy(cause) : 'mend its rights'),
    { cause },
  );
}

async function createMark(options: StartOptions): Promise<Mark> {
  const { data, nodes, partitions, replicas } = options;
  try {
    makeDirs(data);
    writeFileSync(join(data, WRITABLE), '');
    rmSync(join(data, WRITABLE));
  } catch (cause) {
    throw notWritable(data, cause);
  }
  const ports = await planPorts({ ...options, embedded: options.etcd === undefined });
  return { kvorum: FORMAT, nodes, partitions, replicas, etcd: options.etcd, ports };
}

/** Replaced as a whole: a start that is killed leaves the old mark or the new one. */
function saveMark(data: string, mark: Mark): void {
  writeFileSync(join(data, MARK_NEW), `${JSON.stringify(mark, null, 2)}\n`);
  renameSync(join(data, MARK_NEW), join(data, MARK));
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
  if ((mark.etcd === undefined) === (options.etcd === undefined)) return;
  throw new KvorumError(
    'BAD_CONFIG',
    mark.etcd
      ? `${options.data} holds a cluster whose metadata is in etcd; ` +
          `start it with --etcd ${mark.etcd.join(',')}, choose another --data, or --fresh`
      : `${options.data} holds a cluster whose metadata is in the embedded store; ` +
          'start it without --etcd, choose another --data, or --fresh (deletes it)',
  );
}

const tlsModes = {
  placedriver: { http: 'optional' },
  datanode: { clients: 'optional', nodes: 'required', http: 'optional' },
} as const;

function writeConfigs(
  mark: Mark,
  ports: PortPlan,
  { data, tls = false, etcdFiles }: StartOptions,
): readonly ProcessPlan[] {
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
      logFile: logFileOf(data, name),
      ports: own,
    };
    const config = {
      name,
      'data-dir': join(data, name),
      host: '127.0.0.1',
      ...rest,
      ...(tls && { tls: { ...ownFiles(data, name), ...tlsModes[role] } }),
      'run-file': plan.runFile,
      log: { level: 'info', file: plan.logFile },
    };
    const heading = `# Written by kvorum start. Run alone: kvorum ${role} --config ${plan.config}\n`;
    writeFileSync(plan.config, heading + stringify(config));
    plans.push(plan);
  };
  const { nodes, partitions, replicas } = mark;
  const etcd = mark.etcd && { endpoints: mark.etcd, ...etcdFiles };
  const { http, meta } = ports;
  write(
    PLACEDRIVER,
    'placedriver',
    { http, ...(meta !== undefined && { meta }) },
    {
      ports: { http },
      meta: etcd ?? { embedded: { port: meta, ...(tls && { tls }) } },
      default: { nodes, partitions, replicas },
    },
  );
  ports.datanodes.forEach(({ zan, ...own }, at) => {
    const door = zan !== undefined && { zan: { port: zan } };
    write(datanodeName(at), 'datanode', zan === undefined ? own : { ...own, zan }, {
      ports: own,
      ...door,
      meta: etcd ?? { endpoints: [`${tls ? 'https' : 'http'}://127.0.0.1:${meta}`] },
    });
  });
  return plans;
}
