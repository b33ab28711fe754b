/**
 * Whether a replica is about to apply FLUSHALL: its range is cleared before the batch that names the
 * entry, so for a while, and after a crash in between, its data is that of no index.
 */
import { decodeExec } from '../../../src/datanode/commands/exec-line.ts';
import { resolveCommand } from '../../../src/datanode/commands/table.ts';
import { decodeEnvelope } from '../../../src/datanode/partition/envelope.ts';
import type { Replica } from '../../../src/datanode/partition/replica.ts';
import type { CarriedWaiter } from '../../../src/datanode/partition/waiter-codec.ts';

type Line = readonly Buffer[];

export function isEmptying(replica: Replica): boolean {
  const { log } = replica.inspect();
  const next = replica.appliedIndex + 1;
  if (next < log.firstIndex() || next > log.lastIndex()) return false;
  const entries = log.entries(next, next + 1, Number.MAX_SAFE_INTEGER);
  const entry = entries === 'compacted' ? undefined : entries[0];
  if (entry?.kind !== 'normal' || entry.data.length === 0) return false;
  return linesOf(entry.data).some(empties);
}

/** The commands of an entry; none for the leader's own entries. */
export function linesOf(data: Uint8Array): readonly Line[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? body.lines : [];
}

/** The clients that wait which an entry carries. */
export function waitersOf(data: Uint8Array): readonly CarriedWaiter[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? (body.waiting?.waiters ?? []) : [];
}

function empties(line: Line): boolean {
  const command = resolveCommand(line);
  if (command?.name === 'exec') return decodeExec(line)?.some(empties) ?? false;
  return command?.kind === 'write' && command.empties === true;
}
