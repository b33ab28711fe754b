/** A group that lost its quorum is rebuilt from a survivor. */
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';
import type { Operator } from './operator.ts';

type RebuildRequests = Pick<Operator, 'rebuild'>;

export function rebuildRequests(_term: MasterTerm): RebuildRequests {
  const later = async () => {
    throw new KvorumError('CONFLICT', 'this build cannot do that yet');
  };
  return { rebuild: later };
}
