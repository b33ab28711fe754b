/** `kvorum import`: an RDB file, or a running Redis, into a cluster. */
import { KvorumError } from '../../common/errors.ts';
import { parseGlob } from '../../datanode/commands/texts/glob.ts';
import { FileCheck } from './check-file.ts';
import { type Choice, Importer } from './importer.ts';
import { type OnConflict, onConflicts } from './key-writer.ts';
import { Progress } from './progress.ts';
import { fileBytes, walkFile } from './rdb-file.ts';
import { Report } from './report.ts';
import { Target, type TargetFlags } from './target.ts';

export interface ImportFlags extends TargetFlags {
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly onConflict: string;
  readonly db?: number;
  readonly namespace?: string;
  readonly match?: string;
  /** A running Redis in the place of a file. */
  readonly from?: string;
  readonly follow?: boolean;
  readonly untilCaughtUp?: boolean;
  readonly beginAnew?: boolean;
  readonly json?: boolean;
}

export function choiceOf(flags: ImportFlags): Choice {
  const { onConflict, db, namespace, match, dryRun, beginAnew } = flags;
  if (!onConflicts.includes(onConflict as OnConflict)) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `--on-conflict ${onConflict}: say ${onConflicts.join(', ')}`,
    );
  }
  return {
    database: db,
    namespace,
    match: match === undefined ? undefined : parseGlob(Buffer.from(match)),
    onConflict: onConflict as OnConflict,
    isDry: dryRun ?? false,
    isAnew: beginAnew ?? false,
  };
}

/** What is told while it goes on stays apart from its outcome. */
export function warn(text: string): void {
  process.stderr.write(`kvorum: ${text}\n`);
}

/** A file, or `-`. */
export async function importFrom(file: string | undefined, flags: ImportFlags): Promise<void> {
  const { from } = flags;
  if (flags.match !== undefined && (flags.follow || flags.untilCaughtUp)) {
    throw new KvorumError('BAD_ARGUMENT', 'a stream is followed as a whole: --match is not for it');
  }
  if (from === undefined && file !== undefined) return importFile(file, flags);
  if (from === undefined || file !== undefined) {
    const text =
      'name an RDB file (- for standard input), or a source with --from redis://host:port';
    throw new KvorumError('BAD_ARGUMENT', text);
  }
  await (await import('./live/migrate.ts')).migrate(from, flags);
}

async function importFile(path: string, flags: ImportFlags): Promise<void> {
  if (flags.check) return checkFile(path, flags);
  const choice = choiceOf(flags);
  const report = new Report(warn);
  const target = new Target(flags);
  const progress = new Progress(await fileBytes(path), () => report.get('keys'), flags.json);
  try {
    const importer = new Importer(target, choice, report);
    await walkFile(path, {
      take: (event) => importer.take(event),
      progress: (bytes) => progress.show(bytes),
    });
    await importer.finish();
  } finally {
    progress.end();
    await target.close();
  }
  report.tell(flags.json, { file: path, dryRun: choice.isDry });
  process.exitCode = report.exitCode;
}

async function checkFile(path: string, flags: ImportFlags): Promise<void> {
  const check = new FileCheck();
  let keys = 0;
  const progress = new Progress(await fileBytes(path), () => keys, flags.json);
  await walkFile(path, {
    take: (event) => {
      if ('head' in event) keys++;
      return check.take(event);
    },
    progress: (bytes) => progress.show(bytes),
  });
  progress.end();
  check.tell(flags.json);
  if (check.hasLeft) process.exitCode = 2;
}
