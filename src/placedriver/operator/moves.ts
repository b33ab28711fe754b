/** Nodes are drained, replicas moved and given up, leaders named. */
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';
import type { Operator } from './operator.ts';

type MoveRequests = Pick<
  Operator,
  'drain' | 'undrain' | 'move' | 'transferLeader' | 'removeReplica'
>;

export function moveRequests(_term: MasterTerm): MoveRequests {
  const later = async () => {
    throw new KvorumError('CONFLICT', 'this build cannot do that yet');
  };
  return { drain: later, undrain: later, move: later, transferLeader: later, removeReplica: later };
}
