/**
 * Batches of which no line was carried out, or nobody can tell whether it was: what each is told, and
 * who may send such a batch again.
 */
import type { ErrorCode } from '../../../common/errors.ts';
import type { Term } from '../../../common/ids.ts';
import { isOnceLine } from '../../commands/sessions/once-line.ts';
import type { CommandBatch, LineResult } from './batch.ts';

/** One failure per line of `batch`. */
export function failAll(batch: CommandBatch, code: ErrorCode, message: string): LineResult[] {
  return batch.lines.map(() => ({ ok: false, code, message }));
}

/** Why a replica does not take `batch` on, or undefined. */
export function refusalOf(
  batch: CommandBatch,
  at: { readonly stopped: boolean; readonly isLeader: boolean; readonly term: Term },
): readonly LineResult[] | undefined {
  if (at.stopped) return failAll(batch, 'STOPPING', 'the replica stops');
  const mayFollow = batch.maxStalenessMs !== undefined;
  if (!at.isLeader && mayFollow) return undefined;
  if (!at.isLeader) return failAll(batch, 'NOT_LEADER', 'this replica does not lead');
  if (batch.term === undefined || batch.term === at.term) return undefined;
  return failAll(batch, 'TERM_CHANGED', `asked for term ${batch.term}, it is ${at.term}`);
}

/** Under a session it takes effect once, however often it is sent. */
export function mayAskAgain({ once, lines }: CommandBatch): boolean {
  return once !== undefined || lines.every(isOnceLine);
}
