/** Namespaces are made, changed and deleted. */
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';
import type { Operator } from './operator.ts';

type NamespaceRequests = Pick<Operator, 'createNamespace' | 'updateNamespace' | 'deleteNamespace'>;

export function namespaceRequests(_term: MasterTerm): NamespaceRequests {
  const later = async () => {
    throw new KvorumError('CONFLICT', 'this build cannot do that yet');
  };
  return { createNamespace: later, updateNamespace: later, deleteNamespace: later };
}
