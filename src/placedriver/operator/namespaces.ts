/** Namespaces are made, changed and deleted. */
import { KvorumError } from '../../common/errors.ts';
import type { Namespace } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { encodeRecord, keys, type NamespaceRecord } from '../../meta/schema.ts';
import type { MetaOperation } from '../../meta/store.ts';
import { deletionsOf, partitionsIn } from '../deleted-groups.ts';
import { checkOptions, checkSpec } from '../namespace-spec.ts';
import { candidatesOf, createNamespace } from '../namespaces.ts';
import type { MasterTerm } from '../term.ts';
import { attempt } from './attempt.ts';
import type { NamespaceChange, Operator } from './operator.ts';

type NamespaceRequests = Pick<Operator, 'createNamespace' | 'updateNamespace' | 'deleteNamespace'>;

export function namespaceRequests(term: MasterTerm): NamespaceRequests {
  return {
    createNamespace: async (spec) => {
      checkSpec(spec);
      await createNamespace(term, spec);
    },
    updateNamespace: (name, change) => updateNamespace(term, name, change),
    deleteNamespace: (name) => deleteNamespace(term, name),
  };
}

async function updateNamespace(
  term: MasterTerm,
  name: Namespace,
  change: NamespaceChange,
): Promise<void> {
  checkOptions(change);
  await changeRecord(term, name, async (record) => {
    const { tags, ...rest } = { ...record, ...change };
    const next: NamespaceRecord = {
      ...rest,
      ...(tags !== undefined && tags.length > 0 && { tags }),
    };
    if (change.replicas !== undefined || change.tags !== undefined) {
      candidatesOf(term.picture, next);
    }
    return { next, more: [] };
  });
  term.logger.info('namespace changed', { namespace: name, ...change });
}

async function deleteNamespace(term: MasterTerm, name: Namespace): Promise<void> {
  const { store, clock, logger } = term;
  const deletedMs = clock.wallMs();
  await changeRecord(term, name, async (record) => {
    const { items } = await store.range(keys.partitionsOf(name));
    const deletions = deletionsOf(name, partitionsIn(items), deletedMs);
    const next = { ...record, ready: false, deleting: true };
    // what does not fit is told by the chore, before it removes anything
    return { next, more: deletions.slice(0, limits.metaTxnOperationsMax - 1) };
  });
  logger.info('namespace deleted', { namespace: name });
}

/**
 * Writes what `change` makes of the newest record, with what belongs to it. Throws NOT_FOUND,
 * CONFLICT while it is being made or deleted, or when it changes again and again.
 */
function changeRecord(
  term: MasterTerm,
  name: Namespace,
  change: (
    record: NamespaceRecord,
  ) => Promise<{ next: NamespaceRecord; more: readonly MetaOperation[] }>,
): Promise<void> {
  const { store, fence } = term;
  const key = keys.namespace(name);
  return attempt(term, async () => {
    const found = await store.get(key);
    const record = found && decodeRecord(recordKinds.namespace, key, found.value);
    if (found === undefined || record === undefined) throw unknown(name);
    if (!record.ready) throw notReady(record);
    const { next, more } = await change(record);
    const { succeeded } = await store.transaction(
      [fence, { key, modRevision: found.modRevision }],
      [{ type: 'put', key, value: encodeRecord(next) }, ...more],
    );
    return succeeded;
  });
}

function unknown(name: Namespace): KvorumError {
  return new KvorumError('NOT_FOUND', `there is no namespace ${name}`);
}

function notReady({ name, deleting }: NamespaceRecord): KvorumError {
  return deleting
    ? new KvorumError('NOT_FOUND', `namespace ${name} is being deleted`)
    : new KvorumError('CONFLICT', `namespace ${name} is being created: try again in a moment`);
}
