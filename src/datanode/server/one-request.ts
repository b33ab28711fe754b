/** A client's command for one partition, on its way there and back. */
import type { CommandLine, PreparedRead } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import type { Reply } from '../resp/reply.ts';
import type { DataCommand, Target } from './dispatch.ts';
import type { Fate, LaneItem } from './lane.ts';
import { mayAnswerMuch } from './long-writes.ts';
import type { ReplySlot } from './reply-queue.ts';

type OneTarget = Extract<Target, { kind: 'one' }>;

interface Owner {
  answered(request: OneRequest, reply: Reply, fate: Fate): void;
}

export class OneRequest implements LaneItem {
  readonly slot: ReplySlot;
  readonly line: CommandLine;
  readonly command: DataCommand;
  readonly prepared: PreparedRead | undefined;
  readonly kind: 'read' | 'write';
  readonly bytes: number;
  readonly arrivedMs: number;
  readonly startsBatch: boolean;
  readonly mayAnswerMuch: boolean;
  readonly tracks: boolean;
  held = false;
  readonly #owner: Owner;

  constructor(
    owner: Owner,
    target: OneTarget,
    line: CommandLine,
    slot: ReplySlot,
    arrivedMs: number,
    tracks: boolean,
  ) {
    this.#owner = owner;
    this.slot = slot;
    this.line = line;
    this.command = target.command;
    this.prepared = target.prepared;
    this.kind = target.command.kind;
    this.bytes = lineBytes(line);
    // a watch begins when its line arrives: what the connection wrote before is no change by then
    this.startsBatch = target.command.name === 'watch';
    this.arrivedMs = arrivedMs;
    this.tracks = tracks;
    this.mayAnswerMuch = mayAnswerMuch(target.command, line);
  }

  settle(reply: Reply, fate: Fate): void {
    this.#owner.answered(this, reply, fate);
  }
}
