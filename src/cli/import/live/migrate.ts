/** `kvorum import --from`: what a running Redis has, and what it does from then on. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesText, say } from '../../admin/print.ts';
import { clientTls } from '../../client-tls.ts';
import { choiceOf, type ImportFlags, warn } from '../choice.ts';
import { dropPassed, Importer, Namespaces } from '../importer.ts';
import { Libraries } from '../libraries.ts';
import { Progress } from '../progress.ts';
import { walkStream } from '../rdb-file.ts';
import { Report } from '../report.ts';
import { redisAddress, Target } from '../target.ts';
import { HeldDeadlines } from './held-deadlines.ts';
import { Replication } from './replication.ts';
import type { Spool } from './spool.ts';
import { StreamApplier } from './stream-applier.ts';
import { StreamParser } from './stream-commands.ts';

/** With no command for so long the source is quiet. */
const QUIET_MS = 2_000;
const LOOK_MS = 250;
const SHOW_MS = 10_000;

export async function migrate(from: string, flags: ImportFlags): Promise<void> {
  const choice = choiceOf(flags);
  const report = new Report(warn);
  const source = redisAddress(from, '--from');
  const how = source.tls ? clientTls(flags, true) : undefined;
  const target = new Target(flags);
  const namespaces = new Namespaces(choice);
  const replication = new Replication({ ...source, how }, warn);
  await target.during(async () => {
    try {
      await replication.start();
      const isFollowed = flags.follow === true || flags.untilCaughtUp === true;
      const deadlines = new HeldDeadlines(report);
      const ofKey = isFollowed ? deadlines.ofKey : dropPassed;
      const libraries = new Libraries(choice.onLibrary, choice.isDry, report);
      const importer = new Importer(target, choice, report, namespaces, ofKey, libraries);
      await importPicture(replication.picture, importer, report, flags);
      if (isFollowed) {
        if (!flags.json) say(`${report.get('keys')} keys are there; what the source does follows`);
        const applier = new StreamApplier(target, namespaces, report, deadlines, libraries);
        await follow({ replication, applier, deadlines, target, report, flags });
      }
    } finally {
      await replication.stop();
      await replication.remove();
    }
  });
  report.tell(flags.json, { from, offset: replication.offset });
  process.exitCode = report.exitCode;
}

async function importPicture(
  picture: Spool,
  importer: Importer,
  report: Report,
  flags: ImportFlags,
): Promise<void> {
  const progress = new Progress(undefined, () => report.get('keys'), flags.json);
  const show = (bytes: number) => progress.show(bytes);
  const chunks = Readable.from(chunksOf(picture));
  await importer.takeAll((take) => walkStream(chunks, { take, progress: show }));
  progress.end();
}

async function* chunksOf(spool: Spool): AsyncGenerator<Buffer> {
  for (let bytes = await spool.read(); bytes !== undefined; bytes = await spool.read()) yield bytes;
}

interface Following {
  readonly replication: Replication;
  readonly applier: StreamApplier;
  readonly deadlines: HeldDeadlines;
  readonly target: Target;
  readonly report: Report;
  readonly flags: ImportFlags;
}

async function follow(following: Following): Promise<void> {
  const { replication, applier, deadlines, target } = following;
  const ended = new AbortController();
  const interrupted = () => void replication.stop();
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const watching = watch(following, ended.signal);
  try {
    const parser = new StreamParser();
    for await (const bytes of chunksOf(replication.stream)) {
      parser.push(bytes);
      for (let command = parser.next(); command !== undefined; command = parser.next()) {
        if (!isSignOfLife(command.args)) replication.noteCommand();
        await applier.take(command);
      }
    }
    await applier.idle();
    replication.applied = applier.applied;
    await deadlines.giveAllBack(target);
  } finally {
    ended.abort();
    await watching;
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

/** Tells the source and people how far it is, and ends it when the source is quiet. */
async function watch(
  { replication, applier, report, flags }: Following,
  signal: AbortSignal,
): Promise<void> {
  let shownMs = performance.now();
  while (!signal.aborted) {
    replication.applied = applier.applied;
    const lag = replication.received - applier.applied;
    const isQuiet = lag === 0 && replication.quietMs > QUIET_MS;
    if (flags.untilCaughtUp && isQuiet) return replication.stop();
    if (!flags.json && performance.now() - shownMs > SHOW_MS) {
      shownMs = performance.now();
      const state = lag === 0 ? 'nothing is behind' : `${bytesText(lag)} behind`;
      process.stderr.write(`${report.get('commands')} commands, ${state}\n`);
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

function isSignOfLife([name]: readonly Buffer[]): boolean {
  return /^(?:ping|replconf|select)$/i.test(name!.toString('latin1'));
}
