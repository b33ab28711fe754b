/** What becomes of a read that failed while it ran, and of the replica it ran at. */
import { codeOf } from '../../../common/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CommandBatch, LineResult } from '../entries/batch.ts';
import { failAll } from '../entries/failed-batch.ts';
import type { ReadGround } from './reads.ts';

/**
 * The results of a batch whose read of `began` rejected with `failure`. A snapshot that takes the
 * place of an engine closes it, and ends what is read of it: that may be asked for again, and the
 * replica is as good as before. Anything else is told to it as its fault.
 */
export function resultsOfFailed(
  batch: CommandBatch,
  began: Engine,
  failure: unknown,
  ground: Pick<ReadGround, 'engine' | 'onFault'>,
): LineResult[] {
  if (codeOf(failure) === 'STOPPING' && ground.engine() !== began) {
    return failAll(batch, 'NOT_LEADER', 'a snapshot took the place of what was being read');
  }
  ground.onFault(failure);
  return failAll(batch, 'CORRUPT', 'this replica is damaged and stops serving');
}
