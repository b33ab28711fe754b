import { resolveCommand } from '../commands/table.ts';
import type { CommandLine } from './batch.ts';

const LETTER_F = 0x66;
const LOWER_CASE = 0x20;

/** FLUSHALL or FLUSHDB, well formed; the first letter spares the others the look into the table. */
export function emptiesPartition(line: CommandLine): boolean {
  if ((line[0]![0]! | LOWER_CASE) !== LETTER_F) return false;
  const command = resolveCommand(line);
  return command?.kind === 'write' && command.empties === true && command.prepare(line).ok;
}
