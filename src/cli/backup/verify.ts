/** `kvorum backup verify`: reads all of a backup, and says what is wrong with it. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { KvorumError, systemCodeOf } from '../../common/errors.ts';
import { bytesText, ProgressLine, say, tell } from '../admin/print.ts';
import { librariesIn } from './file-libraries.ts';
import { INCOMPLETE, MANIFEST, type Manifest, readManifest } from './manifest.ts';

interface ToldFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Libraries of functions in it. */
  readonly libraries?: number | null | undefined;
}

export interface VerifyFlags {
  readonly json?: boolean;
}

/** On a terminal one line is written over; elsewhere each is a new one. */
const SHOWN_MS = process.stdout.isTTY ? 500 : 10_000;

/** Rejects with CORRUPT when something is missing or damaged. */
export async function verifyBackup(directory: string, flags: VerifyFlags): Promise<void> {
  const manifest = await wholeManifest(directory);
  const line = new ProgressLine(flags);
  const problems: string[] = lackingPartitions(manifest);
  const files: ToldFile[] = manifest.namespaces.flatMap((one) => one.files);
  if (manifest.users !== null) files.push(manifest.users);
  let bytes = 0;
  let shownMs = performance.now();
  let libraries = 0;
  for (const file of files) {
    const problem = (await fileProblem(directory, file)) ?? (await lackingLibrary(directory, file));
    if (problem !== undefined) problems.push(problem);
    libraries += file.libraries ?? 0;
    bytes += file.bytes;
    if (performance.now() - shownMs < SHOWN_MS) continue;
    shownMs = performance.now();
    line.show(`${bytesText(bytes)} read`);
  }
  line.end();
  if (problems.length === 0) {
    const ofFunctions = `${libraries} libraries of functions`;
    const text = `${directory} is whole: ${files.length} files, ${bytesText(bytes)}, ${ofFunctions}`;
    return tell(flags, text, { directory, files: files.length, bytes, libraries, problems });
  }
  if (!flags.json) for (const problem of problems) say(problem);
  throw new KvorumError(
    'CORRUPT',
    `${directory} is damaged: ${problems.length} problems, the first is ${problems[0]}`,
  );
}

/** Rejects when there is none, and says what there is. */
export async function wholeManifest(directory: string): Promise<Manifest> {
  const manifest = await readManifest(directory);
  if (manifest !== undefined) return manifest;
  const part = await readManifest(directory, INCOMPLETE).catch(() => undefined);
  const text =
    part === undefined
      ? `${directory} is no backup: it has no ${MANIFEST}`
      : `${directory} is no backup yet: kvorum backup --resume goes on with it`;
  throw new KvorumError('NOT_FOUND', text);
}

function lackingPartitions({ namespaces }: Manifest): string[] {
  return namespaces.flatMap(({ name, partitions, files }) => {
    const known = new Set(files.map(({ partition }) => partition));
    const lacking = Array.from({ length: partitions }, (_, at) => at).filter(
      (at) => !known.has(at),
    );
    return lacking.map((at) => `${name}/${at} is missing in the manifest`);
  });
}

async function lackingLibrary(
  directory: string,
  { file, libraries }: ToldFile,
): Promise<string | undefined> {
  if (typeof libraries !== 'number') return undefined;
  const names = await librariesIn(join(directory, file));
  if (names.length === libraries) return undefined;
  return `${file} has ${names.length} libraries of functions and should have ${libraries}`;
}

/** What is wrong with a file, of which all is read; undefined: nothing is. */
export async function fileProblem(
  directory: string,
  { file, bytes, sha256 }: ToldFile,
): Promise<string | undefined> {
  const sum = createHash('sha256');
  let read = 0;
  try {
    for await (const chunk of createReadStream(join(directory, file), { highWaterMark: 1 << 20 })) {
      sum.update(chunk);
      read += chunk.length;
    }
  } catch (failure) {
    return `${file} cannot be read: ${systemCodeOf(failure) ?? String(failure)}`;
  }
  if (read !== bytes) return `${file} has ${read} bytes and should have ${bytes}`;
  return sum.digest('hex') === sha256
    ? undefined
    : `${file} is not what was written: its SHA-256 differs`;
}
