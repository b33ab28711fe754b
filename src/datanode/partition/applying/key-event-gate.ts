/**
 * Which replica tells of events of keys: the one that leads, for entries of its own term. What a
 * leader before it proposed that leader may have told already: so no event is told twice, and a
 * change of leader may lose some, as everything in pub/sub may be lost.
 */
import type { Namespace, Term } from '../../../common/ids.ts';
import type { KeyEvent } from '../../encoding/txn/view.ts';

/** Where events go once they are in the engine. */
export interface KeyEventSink {
  /** Somebody asked for them. */
  wanted(): boolean;
  publish(namespace: Namespace, events: readonly KeyEvent[]): void;
}

export interface Leading {
  readonly isLeader: boolean;
  readonly term: Term;
}

export class KeyEventGate {
  readonly #sink: KeyEventSink | undefined;
  readonly #namespace: Namespace;
  readonly #replica: () => Leading;

  constructor(sink: KeyEventSink | undefined, namespace: Namespace, replica: () => Leading) {
    this.#sink = sink;
    this.#namespace = namespace;
    this.#replica = replica;
  }

  /** Whether events of an entry of `term` are gathered. */
  isOpen(term: Term): boolean {
    if (this.#sink?.wanted() !== true) return false;
    const { isLeader, term: current } = this.#replica();
    return isLeader && current === term;
  }

  publish(events: readonly KeyEvent[]): void {
    if (events.length > 0) this.#sink?.publish(this.#namespace, events);
  }
}
