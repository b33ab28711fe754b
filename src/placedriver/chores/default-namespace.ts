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

const LOST =
  'the record of namespace default is lost, and its partitions are there: it is not made anew, which ' +
  `would give their data up; write ${keys.namespace('default')} into the metadata store as it was, ` +
  'or create the namespace (kvorum namespaces create default) to begin with an empty one';

/**
 * The chore throws BAD_RECORD when the namespace is there and cannot be read: it is not made anew,
 * nor when partitions of it are there without its record. A deletion removes the record last.
 */
export function createDefaultNamespace(wanted: DefaultNamespace): Chore {
  let told: MasterTerm | undefined;
  return async (term: MasterTerm) => {
    const { picture, store } = term;
    if (picture.namespace('default')?.ready || isBeingMade(term, 'default')) return undefined;
    if (candidatesFor(picture, []).length < wanted.nodes) return undefined;
    // read first: whoever makes the namespace meanwhile writes its record before them
    const { items } = await store.range(keys.partitionsOf('default'));
    const found = await store.get(keys.namespace('default'));
    if (found === undefined && items.length > 0) {
      if (told !== term) term.logger.error(LOST, { partitions: items.length });
      told = term;
      return undefined;
    }
    const known = found && decodeRecord(recordKinds.namespace, found.key, found.value);
    if (known?.ready || known?.deleting) return undefined;
    const { partitions, replicas, reads } = wanted;
    const options = { partitions, replicas, ...(reads && { reads }) };
    await createNamespace(term, { name: 'default', hash: 'slots', ...options });
    return undefined;
  };
}
