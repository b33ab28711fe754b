/** Makes the namespace `default` once the nodes it is configured for are there. */
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { keys, type NamespaceRecord } from '../../meta/schema.ts';
import { candidatesFor, createNamespace, isBeingMade } from '../namespaces.ts';
import type { MasterTerm } from '../term.ts';
import type { Chore } from './chores.ts';

export interface DefaultNamespace extends Pick<NamespaceRecord, 'reads'> {
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
}

/** The chore throws BAD_RECORD when the namespace is there and cannot be read: it is not made anew. */
export function createDefaultNamespace(wanted: DefaultNamespace): Chore {
  return async (term: MasterTerm) => {
    const { picture, store } = term;
    if (picture.namespace('default')?.ready || isBeingMade(term, 'default')) return undefined;
    if (candidatesFor(picture, []).length < wanted.nodes) return undefined;
    const found = await store.get(keys.namespace('default'));
    const known = found && decodeRecord(recordKinds.namespace, found.key, found.value);
    if (known?.ready || known?.deleting) return undefined;
    const { partitions, replicas, reads } = wanted;
    const options = { partitions, replicas, ...(reads && { reads }) };
    await createNamespace(term, { name: 'default', hash: 'slots', ...options });
    return undefined;
  };
}
