/** Which keys a command line reads, and which it may change, as far as it names them. */
import { carriedOut, keysOf } from '../commands/rows/command.ts';
import { resolveCommand } from '../commands/table/table.ts';
import { decodeExec, isExecLine } from '../commands/transactions/exec-line.ts';
import type { CommandLine } from '../partition/entries/batch.ts';

export interface NamedKey {
  isRead: boolean;
  isWritten: boolean;
  /** By what may come behind a read of it in the same entry. */
  isWrittenLast: boolean;
}

/** By their bytes as latin1; `reads`: whether what is read counts. */
export type NamedKeys = Map<string, NamedKey>;

export function nameKeys(line: CommandLine, reads: boolean, into: NamedKeys): void {
  if (isExecLine(line)) {
    for (const inner of decodeExec(line) ?? []) nameKeys(inner, reads, into);
    return;
  }
  const row = resolveCommand(line);
  if (row === undefined || row.kind === 'node') return;
  const { command, line: inner } = carriedOut(row, line);
  if (inner !== line) return nameKeys(inner, reads, into);
  // a script may read and change what it names, in any order
  const isScript = command.kind === 'write' && command.runsAnything === true;
  const isRead = reads && (command.kind === 'read' || isScript);
  const isWritten = command.kind === 'write';
  if (!isRead && !isWritten) return;
  for (const key of keysOf(command, inner)) {
    const name = key.toString('latin1');
    const known = into.get(name);
    if (known === undefined) {
      into.set(name, { isRead, isWritten, isWrittenLast: isRead && isWritten });
      continue;
    }
    if (isWritten && (known.isRead || isRead)) known.isWrittenLast = true;
    known.isRead ||= isRead;
    known.isWritten ||= isWritten;
  }
}
