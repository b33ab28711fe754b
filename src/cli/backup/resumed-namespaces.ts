/** Which namespaces a backup is of that goes on. */
import { KvorumError } from '../../common/errors.ts';

/**
 * Those it was begun with, whether they are `wanted` by name again or not; without any begun, what is wanted.
 * Throws CONFLICT for others: files of what is not named would stay in the directory, and in no manifest.
 */
export function resumedNamespaces(
  begun: readonly { readonly name: string }[],
  wanted: readonly string[] | undefined,
): readonly string[] | undefined {
  if (begun.length === 0) return wanted;
  const names = begun.map(({ name }) => name);
  const isSame = new Set([...names, ...(wanted ?? [])]).size === names.length;
  if (wanted === undefined || (isSame && new Set(wanted).size === names.length)) return names;
  const which = `${names.length === 1 ? 'namespace' : 'namespaces'} ${names.join(', ')}`;
  throw new KvorumError(
    'CONFLICT',
    `what was begun there is a backup of ${which}: leave out --namespace, or give another directory`,
  );
}
