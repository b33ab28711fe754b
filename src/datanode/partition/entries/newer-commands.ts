/**
 * What nodes of a newer build send for replicas of this one. A command that is not known here never
 * comes into the log: every replica that does not know it either would have to stop.
 */
import { resolveCommand } from '../../commands/table/table.ts';
import { unknownIn } from '../../commands/transactions/unknown.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { CommandBatch, CommandLine, LineResult, LocalPartition } from './batch.ts';
import { executeRefusing } from './refused-lines.ts';
import type { WaitOutcome, WaitRequest } from './wait.ts';

/**
 * Runs a peer's batch. Commands of a write that are not known are answered by an error, the others are
 * carried out: they may be other clients’, and share a session’s sequence with them.
 */
export function executeOfPeer(
  local: Pick<LocalPartition, 'execute'>,
  batch: CommandBatch,
): Promise<readonly LineResult[]> {
  if (batch.kind === 'read') return local.execute(batch);
  return executeRefusing(batch, refusalOfUnknown, (known) => local.execute(known));
}

/** A client of a peer that would wait by a command which is not known here; undefined: it is known. */
export function refusedWait({ line, withdraw }: WaitRequest): WaitOutcome | undefined {
  const reply = withdraw ? undefined : refusalOfUnknown(line);
  return reply && { kind: 'served', reply };
}

function refusalOfUnknown(line: CommandLine): Reply | undefined {
  const name = unknownIn(line, resolveCommand);
  if (name === undefined) return undefined;
  return error(
    `ERR the leader of this partition does not know '${name}': it runs an older kvorum than the ` +
      'node that was asked; upgrade it; nothing happened',
  );
}
