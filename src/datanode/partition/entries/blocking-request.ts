/** A request that waits, as the command table understands it. */
import type { BlockingForm } from '../../commands/rows/command.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import type { CommandLine } from './batch.ts';

/** Undefined when `line` is no blocking command, or not well formed. */
export function blockingRequest(line: CommandLine): BlockingForm | undefined {
  const command = resolveCommand(line);
  if (command?.kind !== 'write' || command.blocking === undefined) return undefined;
  return command.prepare(line).ok ? command.blocking(line) : undefined;
}
