/** A connection's answers in the order of its requests, whatever the order they are found in. */
import type { Queued } from '../commands/rows/node-context.ts';
import type { Protocol, Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';

export interface ReplySlot {
  /** Bytes of the request, for the connection's in-flight bound. */
  readonly requestBytes: number;
  reply: Reply | undefined;
  /** Of the reply, once there is one. */
  bytes: number;
  protocol: Protocol;
  /** CLIENT REPLY OFF or SKIP: nothing is sent. */
  silent: boolean;
  /** Nothing can be said to it: the connection ends here. */
  ends: boolean;
  /** It has left. */
  isTaken: boolean;
}

/** Slots already sent are dropped from the array once they are this many. */
const COMPACT_AT = 1_024;

export class ReplyQueue {
  #slots: ReplySlot[] = [];
  #head = 0;
  /** No slot before it is open. */
  #answered = 0;
  #requestBytes = 0;
  #readyBytes = 0;

  /** Requests not answered yet, the answered ones that wait for those before them included. */
  get length(): number {
    return this.#slots.length - this.#head;
  }

  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** Estimated bytes of replies that are known and not taken. */
  get readyBytes(): number {
    return this.#readyBytes;
  }

  /** `writtenBytes`: what was written and not taken by the client. */
  queued(writtenBytes: number): Omit<Queued, 'transaction' | 'watched'> {
    const replyBytes = this.#readyBytes + writtenBytes;
    return { requestBytes: this.#requestBytes, replies: this.length, replyBytes };
  }

  /** The oldest unanswered request. */
  get first(): ReplySlot | undefined {
    return this.#slots[this.#head];
  }

  open(requestBytes: number, protocol: Protocol): ReplySlot {
    const slot = newSlot(requestBytes, protocol);
    this.#slots.push(slot);
    this.#requestBytes += requestBytes;
    return slot;
  }

  /**
   * A slot that no request has: behind `behind`, while nothing after that is answered, or else
   * before all that are open. What is inserted later comes behind it.
   */
  insert(behind: ReplySlot | undefined, protocol: Protocol): ReplySlot {
    const slots = this.#slots;
    let at = behind && slots.lastIndexOf(behind) + 1;
    at ??= Math.max(this.#head, this.#answered);
    while (slots[at]?.reply !== undefined) at++;
    if (behind === undefined) this.#answered = at;
    const slot = newSlot(0, protocol);
    slots.splice(at, 0, slot);
    return slot;
  }

  /** The same behind the last reply that is known; undefined when no open one holds that back. */
  insertBehindKnown(protocol: Protocol): ReplySlot | undefined {
    if (this.#readyBytes === 0) return undefined;
    const slots = this.#slots;
    let end = slots.length;
    while (end > this.#head && slots[end - 1]!.reply === undefined) end--;
    let open = this.#head;
    while (open < end && slots[open]!.reply !== undefined) open++;
    if (open === end) return undefined;
    const slot = newSlot(0, protocol);
    slots.splice(end, 0, slot);
    return slot;
  }

  /** True when this reply can be sent at once: nothing before it is open. */
  settle(slot: ReplySlot, reply: Reply): boolean {
    slot.reply = reply;
    slot.bytes = replyBytes(reply);
    this.#readyBytes += slot.bytes;
    return slot === this.first;
  }

  /** The next answer that may be sent. */
  take(): ReplySlot | undefined {
    const slot = this.first;
    if (slot?.reply === undefined) return undefined;
    this.#head++;
    slot.isTaken = true;
    this.#requestBytes -= slot.requestBytes;
    this.#readyBytes -= slot.bytes;
    if (this.#head === this.#slots.length) {
      this.#slots.length = 0;
      this.#head = 0;
      this.#answered = 0;
    } else if (this.#head >= COMPACT_AT) {
      this.#slots = this.#slots.slice(this.#head);
      this.#answered = Math.max(0, this.#answered - this.#head);
      this.#head = 0;
    }
    return slot;
  }
}

function newSlot(requestBytes: number, protocol: Protocol): ReplySlot {
  const plain = { silent: false, ends: false, isTaken: false };
  return { requestBytes, reply: undefined, bytes: 0, protocol, ...plain };
}
