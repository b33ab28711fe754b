/** `kvorum import`: an RDB file, or a running Redis, into a cluster. */
import { KvorumError } from '../../common/errors.ts';
import { FileCheck } from './check-file.ts';
import { choiceOf, type ImportFlags, warn } from './choice.ts';
import { Importer } from './importer.ts';
import { Progress } from './progress.ts';
import { fileBytes, walkFile } from './rdb-file.ts';
import { Report } from './report.ts';
import { Target } from './target.ts';

/** A file, or `-`. */
export async function importFrom(file: string | undefined, flags: ImportFlags): Promise<void> {
  const { from } = flags;
  refuseTogether(flags);
  if (from === undefined && file !== undefined) return importFile(file, flags);
  if (from === undefined || file !== undefined) {
    const text =
      'name an RDB file (- for standard input), or a source with --from redis://host:port';
    throw new KvorumError('BAD_ARGUMENT', text);
  }
  await (await import('./live/migrate.ts')).migrate(from, flags);
}

/** Throws BAD_ARGUMENT for flags that would be passed over. */
function refuseTogether({ from, check, dryRun, match, follow, untilCaughtUp }: ImportFlags): void {
  const isFollowed = follow || untilCaughtUp;
  let text: string | undefined;
  if (match !== undefined && isFollowed) {
    text = 'a stream is followed as a whole: --match is not for it';
  } else if (dryRun && isFollowed) text = 'what a stream does is done: --dry-run is not for it';
  else if (check && from !== undefined) text = '--check reads a file: --from is not for it';
  if (text !== undefined) throw new KvorumError('BAD_ARGUMENT', text);
}

async function importFile(path: string, flags: ImportFlags): Promise<void> {
  if (flags.check) return checkFile(path, flags);
  const choice = choiceOf(flags);
  const report = new Report(warn);
  const target = new Target(flags);
  const progress = new Progress(await fileBytes(path), () => report.get('keys'), flags.json);
  await target.during(async () => {
    try {
      const importer = new Importer(target, choice, report);
      const show = (bytes: number) => progress.show(bytes);
      await importer.takeAll((take) => walkFile(path, { take, progress: show }));
    } finally {
      progress.end();
    }
  });
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
