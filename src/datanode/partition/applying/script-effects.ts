/**
 * What scripts of the entries of one engine batch do beside their replies: that one has written at all,
 * and what they publish, which is told once the batch is in the engine (`key-event-gate.ts`).
 */
import { limits } from '../../../common/limits.ts';
import type { RunEffects } from '../../commands/rows/command.ts';
import type { KeyEvent } from '../../encoding/txn/view.ts';

export interface ScriptMessage {
  readonly channel: Buffer;
  readonly message: Buffer;
  readonly isSharded: boolean;
  /** How many events of keys the batch had before it. */
  readonly behind: number;
}

/** Of one message, beside its bytes, near enough. */
const MESSAGE_BYTES = 128;

export class ScriptEffects implements RunEffects {
  readonly messages: ScriptMessage[] = [];
  /** Some script has written: keys may have changed that no line names. */
  hasWritten = false;
  /** Of messages: what they hold. */
  bytes = 0;
  /** Messages there was no room for: in pub/sub everything may be lost, and memory is bounded. */
  lost = 0;
  #tells = false;
  #events: { readonly events: readonly KeyEvent[] } | undefined;

  /** Of a batch whose events are those of `events`; `tells`: this replica tells what is published now. */
  beginEntry(events: { readonly events: readonly KeyEvent[] } | undefined, tells: boolean): void {
    this.#events = events;
    this.#tells = tells;
  }

  ran(): void {
    this.hasWritten = true;
  }

  publish(channel: Buffer, message: Buffer, isSharded: boolean): void {
    if (!this.#tells) return;
    const bytes = channel.length + message.length + MESSAGE_BYTES;
    if (this.bytes + bytes > limits.scriptMessagesBytesMax) {
      this.lost++;
      return;
    }
    this.bytes += bytes;
    const behind = this.#events?.events.length ?? 0;
    this.messages.push({ channel, message, isSharded, behind });
  }
}
