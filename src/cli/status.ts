/** `kvorum status`: the processes of a data directory and the partitions they hold. */
import { resolve } from 'node:path';
import { ask } from '../common/tls/ask.ts';
import { type PlannedProcess, plannedProcesses } from './cluster-dir.ts';
import { isRunning, type RunFile, readRunFiles } from './run-file.ts';
import { authoritiesOf, httpBaseOf } from './run-url.ts';

const HTTP_TIMEOUT_MS = 2_000;

export interface ReplicaLine {
  readonly node: string;
  readonly id: number;
  readonly role: string;
  readonly match: number;
  readonly state: string;
}

export interface PartitionLine {
  readonly namespace: string;
  readonly partition: number;
  readonly leader: string | null;
  readonly replicas: readonly ReplicaLine[];
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly lag: number;
}

export interface ProcessLine {
  readonly name: string;
  readonly role: RunFile['role'];
  /** Null: it does not run, or is starting and has not told of itself yet; `logFile` says more. */
  readonly pid: number | null;
  readonly ports: {
    readonly gateway?: number;
    readonly cluster?: number;
    readonly http?: number;
  };
  readonly alive: boolean;
  readonly logFile?: string;
}

export interface StatusReport {
  readonly processes: readonly ProcessLine[];
  readonly partitions: readonly PartitionLine[];
}

/** What a datanode's GET /status says of one of its replicas. */
export interface NodePartition {
  readonly namespace: string;
  readonly partition: number;
  readonly node: string;
  readonly replica: number;
  readonly role: string;
  readonly leader: string | null;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly lastIndex: number;
  readonly state: string;
  readonly members: readonly {
    readonly node: string;
    readonly id: number;
    readonly match: number;
  }[];
}

/** Exit code 1 for a cluster that does not run as a whole, or never did: `kvorum status && …`. */
export async function status(flags: { readonly data: string; readonly json?: boolean }) {
  const data = resolve(flags.data);
  const report = await collect(data);
  if (flags.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else print(report, data);
  if (!isWhole(report)) process.exitCode = 1;
}

/** Every process that is planned, or has told of itself, is alive; and there is one. */
export function isWhole({ processes }: Pick<StatusReport, 'processes'>): boolean {
  return processes.length > 0 && processes.every(({ alive }) => alive);
}

export async function collect(dataDir: string): Promise<StatusReport> {
  const runs = readRunFiles(dataDir);
  const told = new Set(runs.map(({ name }) => name));
  const silent = plannedProcesses(dataDir).filter(({ name }) => !told.has(name));
  const processes = [...runs.map(lineOf), ...silent.map(lineOfSilent)].sort((a, b) =>
    a.name.localeCompare(b.name, 'en', { numeric: true }),
  );
  const answers = await Promise.all(
    runs.filter((run) => run.role === 'datanode' && isRunning(run)).map(askNode),
  );
  return { processes, partitions: mergePartitions(answers.flat()) };
}

function lineOf(run: RunFile): ProcessLine {
  const { name, role, pid } = run;
  const { gateway, cluster, http } = run.ports;
  const ports = {
    ...(gateway !== undefined && { gateway }),
    ...(cluster !== undefined && { cluster }),
    ...(http !== undefined && { http }),
  };
  return { name, role, pid, ports, alive: isRunning(run) };
}

/** The run file of a process is deleted when it is started, and written when it serves. */
function lineOfSilent({ name, role, logFile }: PlannedProcess): ProcessLine {
  return { name, role, pid: null, ports: {}, alive: false, logFile };
}

async function askNode(run: RunFile): Promise<NodePartition[]> {
  const base = httpBaseOf(run);
  if (base === undefined) return [];
  try {
    const answer = await ask(`${base}/status`, {
      signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
      authorities: authoritiesOf(run),
    });
    if (!answer.ok) return []; // still starting
    const body = JSON.parse(answer.text) as { partitions: NodePartition[] };
    return body.partitions;
  } catch {
    return []; // going down, or stopped by a debugger: its replicas show as unreachable
  }
}

/** One line per partition from what each node says of its own replica; pure. */
export function mergePartitions(reports: readonly NodePartition[]): PartitionLine[] {
  const groups = new Map<string, NodePartition[]>();
  for (const report of reports) {
    const key = `${report.namespace}/${String(report.partition).padStart(5, '0')}`;
    groups.set(key, [...(groups.get(key) ?? []), report]);
  }
  return [...groups.keys()].sort().map((key) => mergePartition(groups.get(key)!));
}

function mergePartition(reports: readonly NodePartition[]): PartitionLine {
  const newest = reports.reduce((a, b) => (b.term > a.term ? b : a));
  const leading = reports.find((report) => report.role === 'leader' && report.term === newest.term);
  const source = leading ?? newest;
  const replicas = source.members.map((member) => {
    const own = reports.find((report) => report.replica === member.id);
    return {
      node: member.node,
      id: member.id,
      role: own?.role ?? 'unknown',
      match: leading ? member.match : (own?.lastIndex ?? 0),
      state: own?.state ?? 'unreachable',
    };
  });
  return {
    namespace: source.namespace,
    partition: source.partition,
    leader: leading?.node ?? null,
    replicas,
    term: source.term,
    commit: source.commit,
    applied: source.applied,
    lag:
      source.commit - Math.min(...reports.map((report) => Math.min(report.applied, source.commit))),
  };
}

/** One line for people. */
export function processText({ name, role, pid, ports, alive, logFile }: ProcessLine): string {
  if (pid === null) return `${name}  ${role}  not running, or still starting (see ${logFile})`;
  const doors = Object.entries(ports).map(([door, port]) => `${door} ${port}`);
  return `${name}  ${role}  pid ${pid}  ${alive ? 'alive' : 'DEAD'}  ${doors.join(', ')}`;
}

function print(report: StatusReport, data: string): void {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (report.processes.length === 0) {
    say(`no process has run in ${data}: start a cluster there (kvorum start), or name its --data`);
  }
  for (const line of report.processes) say(processText(line));
  for (const partition of report.partitions) {
    const replicas = partition.replicas.map(
      (replica) => `${replica.node}#${replica.id} ${replica.role} ${replica.match}`,
    );
    say(
      `${partition.namespace}/${partition.partition}  leader ${partition.leader ?? 'none'}  ` +
        `term ${partition.term}  commit ${partition.commit}  lag ${partition.lag}  ` +
        `[${replicas.join(' | ')}]`,
    );
  }
}
