/** What one partition is asked for a client of ZanRedisDB. */
import type { CommandLine } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import type { Reply } from '../resp/reply.ts';
import type { Fate, LaneItem } from '../server/lane.ts';
import { mayAnswerMuch } from '../server/long-writes.ts';
import type { ReplySlot } from '../server/reply-queue.ts';
import type { DataCommand } from './request.ts';

/** A request as it came in. */
export interface Sent {
  readonly args: CommandLine;
  readonly slot: ReplySlot;
  /** On the monotone clock. */
  readonly arrivedMs: number;
}

export interface Asked {
  readonly sent: Sent;
  readonly command: DataCommand;
  readonly line: CommandLine;
  /** Another node may answer: the client has been told of the partition by this one. */
  readonly anywhere: boolean;
  settle(reply: Reply, fate: Fate): void;
}

export class PartitionRequest implements LaneItem {
  readonly slot: ReplySlot;
  readonly line: CommandLine;
  readonly kind: 'read' | 'write';
  readonly bytes: number;
  readonly arrivedMs: number;
  readonly mayAnswerMuch: boolean;
  readonly sent: Sent;
  readonly anywhere: boolean;
  held = false;
  readonly #settle: Asked['settle'];

  constructor({ sent, command, line, anywhere, settle }: Asked) {
    this.slot = sent.slot;
    this.line = line;
    this.kind = command.kind;
    this.bytes = lineBytes(line);
    this.arrivedMs = sent.arrivedMs;
    this.mayAnswerMuch = mayAnswerMuch(command, line);
    this.sent = sent;
    this.anywhere = anywhere;
    this.#settle = settle;
  }

  settle(reply: Reply, fate: Fate): void {
    this.#settle(reply, fate);
  }
}
