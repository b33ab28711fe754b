/** `kvorum restore`: the namespaces of a backup into a cluster, whatever its nodes and partitions are. */
import { join } from 'node:path';
import { KvorumError } from '../../common/errors.ts';
import { Api } from '../admin/api.ts';
import { bytesText, say } from '../admin/print.ts';
import type { NamespaceAnswer, NodeAnswer } from '../admin/shapes.ts';
import type { BackedFile, BackedNamespace, Manifest } from '../backup/manifest.ts';
import { fileProblem, wholeManifest } from '../backup/verify.ts';
import { choiceOf, type ImportFlags, warn } from '../import/choice.ts';
import { Importer } from '../import/importer.ts';
import { Progress } from '../import/progress.ts';
import { walkFile } from '../import/rdb-file.ts';
import { Target } from '../import/target.ts';
import { FileCounts, type OneFile } from './file-counts.ts';
import { inParallel } from './in-parallel.ts';

export interface RestoreFlags extends Omit<ImportFlags, 'namespace' | 'onConflict'> {
  readonly token?: string;
  /** Of those in the backup; undefined: all. */
  readonly namespace?: readonly string[];
  /** Another name, of one namespace. */
  readonly as?: string;
  readonly partitions?: number;
  readonly replicas?: number;
  readonly parallel: number;
  /** Undefined: the namespace must be empty. */
  readonly onConflict?: string;
}

interface Plan {
  readonly from: BackedNamespace;
  readonly to: string;
}

export async function restore(directory: string, flags: RestoreFlags): Promise<void> {
  const manifest = await wholeManifest(directory);
  const plans = plansOf(manifest, flags);
  await checkFiles(directory, plans, flags.json);
  const api = new Api(flags);
  const target = new Target(flags);
  await target.during(async () => {
    for (const plan of plans) await prepare(api, target, plan, flags);
    await restoreAll(directory, plans, target, flags);
  });
  if (manifest.users !== null && !flags.json) {
    say(`users are not restored: ${join(directory, manifest.users.file)} tells them`);
  }
}

/** Throws BAD_ARGUMENT. */
export function plansOf({ namespaces }: Manifest, flags: RestoreFlags): readonly Plan[] {
  const { namespace: wanted, as } = flags;
  const missing = wanted?.find((name) => !namespaces.some((one) => one.name === name));
  if (missing !== undefined) {
    const names = namespaces.map(({ name }) => name).join(', ');
    throw new KvorumError('BAD_ARGUMENT', `the backup has no namespace ${missing}, but ${names}`);
  }
  const chosen = namespaces.filter(({ name }) => wanted === undefined || wanted.includes(name));
  if (as !== undefined && chosen.length !== 1) {
    throw new KvorumError('BAD_ARGUMENT', '--as names one namespace: say which with --namespace');
  }
  return chosen.map((from) => ({ from, to: as ?? from.name }));
}

/** All of them before anything is written. */
async function checkFiles(
  directory: string,
  plans: readonly Plan[],
  quiet: boolean | undefined,
): Promise<void> {
  let bytes = 0;
  for (const { from } of plans) {
    if (from.files.length !== from.partitions) {
      const text = `${directory} is damaged: ${from.name} has ${from.partitions} partitions and ${from.files.length} files`;
      throw new KvorumError('CORRUPT', text);
    }
    for (const file of from.files) {
      const problem = await fileProblem(directory, file);
      if (problem !== undefined) {
        throw new KvorumError('CORRUPT', `${problem}; nothing was written`);
      }
      bytes += file.bytes;
    }
  }
  if (!quiet) say(`the backup is whole: ${bytesText(bytes)}`);
}

/** Makes the namespace where there is none, and looks that it is empty. */
async function prepare(api: Api, target: Target, plan: Plan, flags: RestoreFlags): Promise<void> {
  const { from, to } = plan;
  const { namespaces } = await api.get<{ namespaces: NamespaceAnswer[] }>('/v1/namespaces');
  if (!namespaces.some(({ name }) => name === to)) {
    const { nodes } = await api.get<{ nodes: NodeAnswer[] }>('/v1/nodes');
    const alive = nodes.filter((node) => node.alive).length;
    const replicas = flags.replicas ?? Math.min(from.replicas, Math.max(1, alive));
    if (replicas < from.replicas && flags.replicas === undefined) {
      warn(`${to} gets ${replicas} replicas of a partition: more datanodes are not alive`);
    }
    const partitions = flags.partitions ?? from.partitions;
    const { hash, reads, tags } = from;
    const spec = { name: to, partitions, replicas, hash, reads, ...(tags.length > 0 && { tags }) };
    await api.write('POST', '/v1/namespaces', spec);
  }
  const keys = Number(await (await target.client(to)).call('DBSIZE'));
  if (keys === 0 || flags.onConflict !== undefined) return;
  throw new KvorumError(
    'CONFLICT',
    `the namespace ${to} has ${keys} keys already: name another with --as, or say what becomes of ` +
      'keys that are there with --on-conflict replace or skip',
  );
}

interface Job {
  readonly to: string;
  readonly file: BackedFile;
}

async function restoreAll(
  directory: string,
  plans: readonly Plan[],
  target: Target,
  flags: RestoreFlags,
): Promise<void> {
  const jobs = plans.flatMap(({ from, to }) => from.files.map((file): Job => ({ to, file })));
  const total = jobs.reduce((sum, { file }) => sum + file.bytes, 0);
  const counts = new FileCounts(warn);
  const progress = new Progress(total, () => counts.keys, flags.json);
  try {
    await inParallel(jobs, flags.parallel, async (job) => {
      const file = counts.begin();
      await restoreFile(directory, job, target, flags, file, () => progress.show(counts.bytes));
      counts.end(file);
    });
  } finally {
    progress.end();
  }
  const told = plans.map(({ from, to }) => ({
    namespace: from.name,
    as: to,
    partitions: from.partitions,
  }));
  const { whole } = counts;
  whole.tell(flags.json, { directory, namespaces: told });
  process.exitCode = whole.exitCode;
}

async function restoreFile(
  directory: string,
  { to, file }: Job,
  target: Target,
  flags: RestoreFlags,
  counts: OneFile,
  show: () => void,
): Promise<void> {
  const { report } = counts;
  const { onConflict = 'fail', ...rest } = flags;
  const importer = new Importer(target, choiceOf({ ...rest, onConflict, namespace: to }), report);
  const progress = (bytes: number) => {
    counts.bytes = bytes;
    show();
  };
  await importer.takeAll((take) => walkFile(join(directory, file.file), { take, progress }));
  const refused = report.refused - report.refusedLibraries;
  const found = report.get('keys') + report.get('expired') + report.get('existed') + refused;
  if (found === file.keys) return;
  report.refuse(`the file ${file.file}`, `it has ${found} keys, the manifest says ${file.keys}`);
}
