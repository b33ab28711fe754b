/**
 * Which replica tells of events of keys, and what scripts publish: the one that leads, for entries of its own term. What a
 * leader before it proposed that leader may have told already: so no event is told twice, and a
 * change of leader may lose some, as everything in pub/sub may be lost.
 */
import type { Namespace, Term } from '../../../common/ids.ts';
import type { Pacing } from '../../encoding/steps/slices.ts';
import type { KeyEvent } from '../../encoding/txn/view.ts';
import type { ScriptEffects, ScriptMessage } from './script-effects.ts';

/** Where events go once they are in the engine. */
export interface KeyEventSink {
  /** Somebody asked for them. */
  wanted(): boolean;
  publish(namespace: Namespace, events: readonly KeyEvent[]): void;
  /** To whoever has subscribed, anywhere in the cluster. */
  publishMessage(message: ScriptMessage): void;
  /** Messages that nobody is told. */
  countLost(messages: number): void;
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
    return this.#sink?.wanted() === true && this.isTelling(term);
  }

  /** Whether what scripts of an entry of `term` publish is told here. */
  isTelling(term: Term): boolean {
    if (this.#sink === undefined) return false;
    const { isLeader, term: current } = this.#replica();
    return isLeader && current === term;
  }

  publish(events: readonly KeyEvent[]): void {
    if (events.length > 0) this.#sink?.publish(this.#namespace, events);
  }

  /** Messages in their places among the events. A script may publish very many: others have their turns. */
  async publishAll(
    events: readonly KeyEvent[],
    { messages, lost }: Pick<ScriptEffects, 'messages' | 'lost'>,
    pace: Pacing,
  ): Promise<void> {
    let told = 0;
    for (const message of messages) {
      if (message.behind > told) this.publish(events.slice(told, message.behind));
      told = message.behind;
      this.#sink?.publishMessage(message);
      if (pace.isDue(true)) await pace.pause();
    }
    this.publish(told === 0 ? events : events.slice(told));
    if (lost > 0) this.#sink?.countLost(lost);
  }
}
