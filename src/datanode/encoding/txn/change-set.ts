/** What a Txn changed, all in all, for those who look at it once it is in the engine. */
import type { Change } from './overlay.ts';

export interface ChangeSet {
  all(): Iterable<Change>;
  /** The change of the engine key whose bytes are `name`'s characters (latin1). */
  get(name: string): Change | undefined;
  /**
   * Names (`elementsName`) of the collections of which elements were changed; undefined when there
   * are so few changes that one may look at all of them in a turn.
   */
  readonly elements: ReadonlySet<string> | undefined;
  /** Keys that commands told of, whatever of them changed; undefined: nobody wanted to know. */
  readonly touched?: readonly Buffer[] | undefined;
}
