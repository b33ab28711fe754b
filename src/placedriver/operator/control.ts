/** Switches of the whole cluster: balancing, upgrade mode, the stable node count. */
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';
import type { Operator } from './operator.ts';

type ControlRequests = Pick<Operator, 'setBalance' | 'lowerStableNodes' | 'setUpgrade'>;

export function controlRequests(_term: MasterTerm): ControlRequests {
  const later = async () => {
    throw new KvorumError('CONFLICT', 'this build cannot do that yet');
  };
  return { setBalance: later, lowerStableNodes: later, setUpgrade: later };
}
