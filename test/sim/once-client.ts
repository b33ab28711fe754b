/**
 * A client that sends its writes under a session and asks again, at any gateway, until it knows the
 * outcome: for whoever looks at the keys each write then takes effect exactly once.
 */
import type { Reply } from '../../src/datanode/resp/reply.ts';

/** What became of one try: no answer, or one that leaves it open; nothing happened; the outcome. */
export type Meaning = 'unknown' | 'refused' | 'known';

export interface OnceWorld {
  /** At one gateway or another. */
  ask(words: readonly string[]): Promise<Reply | undefined>;
  meaning(reply: Reply | undefined): Meaning;
  /** Before another try. */
  pause(): Promise<void>;
  /** False once nobody needs more calls. */
  running(): boolean;
}

/** Keys that only such clients write: nobody else's unknown outcome hides a second effect. */
export const onceKeys = ['o0', 'o1', 'o2'];

export class OnceClient {
  readonly #world: OnceWorld;
  readonly #id: string;
  /** Keys whose partitions know the session. */
  readonly #opened = new Set<string>();
  #sequence = 0;

  constructor(id: string, world: OnceWorld) {
    this.#world = world;
    this.#id = id;
  }

  /** The reply; undefined when the run ended before it was known, `sent` tells whether it was sent. */
  async call(
    words: readonly string[],
  ): Promise<{ readonly sent: boolean; readonly reply: Reply | undefined }> {
    const key = words[1]!;
    const { running, pause, meaning, ask } = this.#world;
    for (; !this.#opened.has(key); await pause()) {
      if (!running()) return { sent: false, reply: undefined };
      const reply = await ask(['KV.SESSION', 'OPEN', this.#id, key]);
      if (meaning(reply) === 'known') this.#opened.add(key);
    }
    const sequence = String(++this.#sequence);
    for (let sent = false; ; await pause()) {
      const reply = await ask(['KV.ONCE', this.#id, sequence, sequence, ...words]);
      const told = meaning(reply);
      if (told === 'known') return { sent: true, reply };
      sent ||= told === 'unknown';
      if (!running()) return { sent, reply: undefined };
    }
  }
}
