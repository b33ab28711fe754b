/** What an import is told by its flags. */
import { KvorumError } from '../../common/errors.ts';
import { parseGlob } from '../../datanode/commands/texts/glob.ts';
import type { Choice } from './importer.ts';
import { type OnConflict, onConflicts } from './key-writer.ts';
import { type OnLibrary, onLibraries } from './libraries.ts';
import type { TargetFlags } from './target.ts';

export interface ImportFlags extends TargetFlags {
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly onConflict: string;
  /** Undefined: none where keys are chosen by `match`, replaced where all is begun anew, else as `onConflict`. */
  readonly functions?: string;
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
  const usual = beginAnew ? 'replace' : onConflict;
  const functions = flags.functions ?? (match === undefined ? usual : 'none');
  if (!onConflicts.includes(onConflict as OnConflict)) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `--on-conflict ${onConflict}: say ${onConflicts.join(', ')}`,
    );
  }
  if (!onLibraries.includes(functions as OnLibrary)) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `--functions ${functions}: say ${onLibraries.join(', ')}`,
    );
  }
  return {
    database: db,
    namespace,
    match: match === undefined ? undefined : parseGlob(Buffer.from(match)),
    onConflict: onConflict as OnConflict,
    onLibrary: functions as OnLibrary,
    isDry: dryRun ?? false,
    isAnew: beginAnew ?? false,
  };
}

/** What is told while it goes on stays apart from its outcome. */
export function warn(text: string): void {
  process.stderr.write(`kvorum: ${text}\n`);
}
