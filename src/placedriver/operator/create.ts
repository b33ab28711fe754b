/** The master's answer to an operator's requests, put together from its rooms. */
import type { MasterTerm } from '../term.ts';
import { controlRequests } from './control.ts';
import { moveRequests } from './moves.ts';
import { namespaceRequests } from './namespaces.ts';
import type { Operator } from './operator.ts';
import { placedriverRequests } from './placedrivers.ts';
import { rebuildRequests } from './rebuild.ts';

export function createOperator(term: MasterTerm): Operator {
  return {
    ...namespaceRequests(term),
    ...controlRequests(term),
    ...moveRequests(term),
    ...rebuildRequests(term),
    ...placedriverRequests(term),
  };
}
