/** Makes the namespace `default` once the nodes it is configured for are there. */
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { keys, type NamespaceRecord, SCHEMA_VERSION } from '../../meta/schema.ts';
import { createNamespace } from '../namespaces.ts';
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
    const { picture, store, leadership } = term;
    if (picture.namespace('default')?.ready) return undefined;
    const nodes = picture.aliveNodes();
    if (nodes.length < wanted.nodes) return undefined;
    const found = await store.get(keys.namespace('default'));
    if (found && decodeRecord(recordKinds.namespace, found.key, found.value).ready)
      return undefined;
    await createNamespace(term, leadership, nodes, {
      version: SCHEMA_VERSION,
      name: 'default',
      kind: 'redis',
      hash: 'slots',
      partitions: wanted.partitions,
      replicas: wanted.replicas,
      ...(wanted.reads && { reads: wanted.reads }),
      expiry: 'consistent',
      ready: false,
    });
    return undefined;
  };
}
