/** What a master does again and again, in this order, whenever something may have changed. */
import type { MasterTerm } from '../term.ts';
import { createDefaultNamespace, type DefaultNamespace } from './default-namespace.ts';
import { fillRebuilt } from './fill-ups.ts';
import { repairReplicas } from './repairs.ts';

/**
 * Looks at the picture and does what is due. Resolves to the milliseconds after which it wants to be
 * asked again though nothing changed; undefined: not before something does. Whatever it rejects
 * with, it is asked again soon.
 */
export type Chore = (term: MasterTerm) => Promise<number | undefined>;

export function createChores(defaultNamespace: DefaultNamespace): readonly Chore[] {
  return [repairReplicas, fillRebuilt, createDefaultNamespace(defaultNamespace)];
}
