/** How commands tell of what they did to a key (`WriteView.notify`), behind the change itself. */
import { type Found, type Outline, removeKey } from '../../encoding/keyspace/keyspace.ts';
import type { KeyEventClass, WriteView } from '../../encoding/txn/view.ts';

/** A collection was changed and saved; one without elements is gone. */
export function tellChange(
  view: WriteView,
  of: KeyEventClass,
  event: string,
  { found, size }: { readonly found: Found; readonly size: number },
): void {
  view.notify?.(of, event, found.key);
  if (size === 0) view.notify?.('generic', 'del', found.key);
}

/** Deletes a key and tells of it; false when none is there that a command could see. */
export function deleteKey(view: WriteView, found: Outline): boolean {
  const deleted = removeKey(view, found);
  if (deleted) view.notify?.('generic', 'del', found.key);
  return deleted;
}
