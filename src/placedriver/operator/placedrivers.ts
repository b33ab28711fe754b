/** Placedrivers are kept from mastership. */
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';
import type { Operator } from './operator.ts';

type PlacedriverRequests = Pick<Operator, 'banPlacedriver'>;

export function placedriverRequests(_term: MasterTerm): PlacedriverRequests {
  const later = async () => {
    throw new KvorumError('CONFLICT', 'this build cannot do that yet');
  };
  return { banPlacedriver: later };
}
