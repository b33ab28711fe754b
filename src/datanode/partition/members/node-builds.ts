/**
 * Up to which apply version each node carries out entries, as it said when it registered last, alive or
 * not: a node that is away comes back with the build that it had, as a rule.
 */
import type { NodeId } from '../../../common/ids.ts';
import { APPLY_VERSION, UNTOLD_APPLY_VERSION } from '../entries/envelope.ts';

/** By node; undefined: told by a build that says nothing. */
export type ToldVersions = ReadonlyMap<NodeId, number | undefined>;

export class NodeBuilds {
  readonly #own: NodeId;
  #told: ToldVersions | undefined;
  #someAreOlder = false;

  constructor(own: NodeId) {
    this.#own = own;
  }

  set(told: ToldVersions): void {
    this.#told = told;
    this.#someAreOlder = [...told.keys()].some((node) => !this.applies(node, APPLY_VERSION));
  }

  /** Some node that is known does not apply all that this one does. */
  get someAreOlder(): boolean {
    return this.#someAreOlder;
  }

  /** A node that nobody has heard of yet counts as one of this build: it is to come. */
  applies(node: NodeId, version: number): boolean {
    if (node === this.#own || this.#told?.has(node) !== true) return true;
    return version <= (this.#told.get(node) ?? UNTOLD_APPLY_VERSION);
  }
}
