/**
 * One client's bytes, both ways: requests are read while there is room for what comes of them,
 * replies leave in the order of their requests and in one write per turn. What requests mean is
 * their door's to say.
 */
import { LazyAbort } from '../../common/lazy-abort.ts';
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import type { Queued, Traffic } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { heldBytes } from '../resp/argument-memory.ts';
import type { Protocol, Reply } from '../resp/reply.ts';
import { createRequestParser, type RequestParser, TLS_HELLO } from '../resp/request-parser.ts';
import type { ConnectionWorld } from './connection-world.ts';
import { HeldByClient } from './held-by-client.ts';
import type { LaneSet } from './lane-set.ts';
import { LatePushes } from './late-pushes.ts';
import { Output } from './output.ts';
import { ReplyQueue, type ReplySlot } from './reply-queue.ts';
import { ReplyRoom } from './reply-room.ts';
import { TakenWaiters } from './taken.ts';
import { WalkTime } from './walk-time.ts';

/** Whose stream it is. */
export interface StreamOwner {
  readonly lanes: Pick<LaneSet, 'start'>;
  /** Of replies to what comes in now. */
  protocol(): Protocol;
  /**
   * Whether what comes in now may be more than a client needs to say who it is. Undefined: what came
   * before it tells, which has not run yet; then `lookAgain` when it has.
   */
  mayBeLarge(): boolean | undefined;
  /** In order; `slot` is where its reply goes. */
  onRequest(args: CommandLine, slot: ReplySlot): void;
  /** There may be room for replies again: see ReplyRoom. */
  onRoom(): void;
  /** The client sends nothing more, and may wait for replies: the stream ends with the last of them. */
  onInputEnd(): void;
  /** What it keeps of answered requests: those that a transaction queues. */
  keptBytes(): number;
  /** The client has gone; called once, and nothing after it. */
  onClose(): void;
}

type StreamWorld = Pick<
  ConnectionWorld,
  'clock' | 'logger' | 'stats' | 'requests' | 'replies' | 'strangers'
>;

export class ClientStream {
  #readBytes = 0;
  readonly output: Output;
  readonly room: ReplyRoom;
  /** The client has gone: what it asked for need not be answered. */
  readonly gone = new LazyAbort();
  readonly #stream: ByteStream;
  readonly #world: StreamWorld;
  readonly #owner: StreamOwner;
  readonly #parser: RequestParser;
  readonly #replies = new ReplyQueue();
  readonly #late: LatePushes;
  readonly #held: HeldByClient;
  readonly #taken: TakenWaiters;
  #flushAsked = false;
  /** There is no room for more. */
  #paused = false;
  /** What comes next is large, and nobody knew whether it may be when it was last asked. */
  #inDoubt = false;
  /** Reads on in a later turn. */
  #resting = false;
  /** Handed over before anything else is. */
  #next: { readonly args: CommandLine; readonly slot: ReplySlot } | undefined;
  /** Spent on what came since it last rested. */
  readonly #time: WalkTime;
  /** Ends once all that came is answered; until then requests are taken. */
  #ending = false;
  /** Nothing more is read; the stream ends with the last reply. */
  #closing = false;
  #closed = false;

  constructor(stream: ByteStream, world: StreamWorld, owner: StreamOwner) {
    this.#stream = stream;
    this.#world = world;
    this.#owner = owner;
    this.#time = new WalkTime(world.clock);
    this.output = new Output(stream, this.#replies, world);
    this.room = new ReplyRoom(stream, this.#replies, this.output, world.replies);
    this.#taken = new TakenWaiters(this.room.isTaken);
    this.#late = new LatePushes(world.clock, () => this.#closed);
    this.#held = new HeldByClient(stream, world, this.output);
    this.#parser = createRequestParser({
      bulkBytesMax: limits.requestBulkBytesMax,
      mayBeLarge: () => this.#mayBeLarge(),
      onRequest: (args, bytes) => this.#onRequest(args, bytes),
      onProtocolError: (text) => this.#onProtocolError(text),
    });
  }

  /** Begins to read: `owner` is ready. */
  open(): void {
    this.#stream.attach({
      onData: (chunk) => this.#onData(chunk),
      onDrain: () => this.#onDrain(),
      onEnd: () => this.#onEnd(),
      onClose: () => this.#onClose(),
    });
  }

  /** Resolves once the client has taken nearly all that it was sent; rejects when it has gone. */
  taken(): Promise<void> {
    return this.#taken.wait();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get queued(): Omit<Queued, 'transaction' | 'watched'> {
    return this.#replies.queued(this.#stream.bufferedBytes);
  }

  /** So many bytes came and went. */
  get traffic(): Traffic {
    return { inputBytes: this.#readBytes, outputBytes: this.output.writtenBytes };
  }

  /** Takes its place among the replies, whatever was asked for. */
  answer(reply: Reply): void {
    this.settle(this.#replies.open(0, this.#owner.protocol()), reply);
  }

  /** What nobody asked for: behind the reply of `behind`, or else ahead of all that is to come. */
  tell(reply: Reply, behind: ReplySlot | undefined): void {
    this.settle(this.#replies.insert(behind, this.#owner.protocol()), reply);
  }

  /** Behind every reply that is known; when none of them waits long for another, by `pushes` at once. */
  tellBehindKnown(bytes: Buffer, pushes: { push(bytes: Buffer): void }): void {
    const slot = this.#replies.insertBehindKnown(this.#owner.protocol());
    if (slot === undefined) return pushes.push(bytes);
    this.settle(slot, { kind: 'encoded', bytes });
    this.#late.note(slot, () => pushes.push(bytes));
  }

  settle(slot: ReplySlot, reply: Reply): void {
    if (this.#closed) return;
    this.room.settled(slot);
    if (this.#replies.settle(slot, reply)) this.askFlush();
    else this.#held.noteReady(this.#replies.readyBytes);
  }

  /** What comes before `slot` is answered, then the stream ends: `reply` is not sent. */
  endAt(slot: ReplySlot, reply: Reply): void {
    if (this.#closed) return;
    slot.ends = true;
    this.beginClosing();
    this.settle(slot, reply);
  }

  /** At the end of the turn, whatever is ready leaves. */
  askFlush(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    this.#world.clock.endOfTurn(this.#flush);
  }

  /** It may be known now whether the client may send what is large. */
  lookAgain(): void {
    if (this.#inDoubt) this.#regulate();
  }

  /** Takes nothing more; ends with the last reply, which is yet to come. */
  beginClosing(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#parser.pause();
    this.#stream.resume();
  }

  /** Takes nothing more, and ends when all is answered. */
  close(): void {
    this.beginClosing();
    this.#endWhenAnswered();
  }

  /** Ends when all is answered; what comes until then is answered as well. */
  endWhenAnswered(): void {
    this.#ending = true;
    this.#endWhenAnswered();
  }

  /** The client has gone for whoever asks from now on: the stream itself tells in a later turn. */
  destroy(): void {
    this.#stream.destroy();
    this.#onClose();
  }

  #onData(chunk: Buffer): void {
    if (this.#closing) return;
    this.#world.stats.inputBytes += chunk.length;
    this.#world.stats.reads++;
    this.#readBytes += chunk.length;
    this.#walk(chunk);
    // a pipeline becomes one batch per partition because lanes start only when it has been read
    this.#owner.lanes.start();
    this.#regulate();
    this.#noteHeld();
  }

  /** Requests are taken from what has come, and now `chunk`. */
  #walk(chunk?: Buffer): void {
    this.#time.begin();
    if (chunk === undefined) this.#parser.resume();
    else this.#parser.feed(chunk);
    this.#time.end();
    if (this.#time.isUsedUp) this.#rest();
  }

  #onRequest(args: CommandLine, bytes: number): void {
    if (this.#closing) return;
    const slot = this.#replies.open(heldBytes(args, bytes), this.#owner.protocol());
    if (args.length <= limits.argumentsAtOnceMax) {
      this.#owner.onRequest(args, slot);
      if (this.#isFull()) this.#regulate();
      this.#time.noteTaken();
      // a chunk may hold a thousand small requests, which take 10 ms: the others of it wait a turn
      if (!this.#time.isUsedUp || this.#resting) return;
    } else {
      // to look at thousands of arguments is a turn's work, as it was to read them
      this.#next = { args, slot };
    }
    this.#parser.pause();
    this.#rest();
  }

  /** Behind a rest. */
  #goOn(): void {
    if (this.#next !== undefined) {
      const { args, slot } = this.#next;
      this.#next = undefined;
      this.#owner.onRequest(args, slot);
    }
    if (!this.#paused && !this.#closing) this.#walk();
    this.#owner.lanes.start();
    this.#regulate();
  }

  /** Reads on in the next turn: the system would hand over 2 MiB in this one. */
  #rest(): void {
    if (this.#resting) return;
    this.#resting = true;
    this.#stream.pause();
    this.#world.clock.endOfTurn(() => {
      this.#resting = false;
      this.#time.rested();
      if (this.#closed) return;
      this.#goOn();
      this.#noteHeld();
      if (!this.#paused && !this.#resting) this.#stream.resume();
      if (this.#ending) this.#endWhenAnswered();
    });
  }

  #onProtocolError(text: string): void {
    if (this.#closing) return;
    this.beginClosing();
    if (text === TLS_HELLO) {
      const { remote } = this.#stream;
      this.#world.strangers.tell('a client speaks TLS, and this port does not', {
        ...{ client: remote, remedy: 'tls.clients in the configuration: optional or required' },
      });
    }
    // of a byte that is not ASCII, the byte
    const line = `-ERR ${text.replace(/[\r\n]/g, ' ')}\r\n`;
    this.answer({ kind: 'encoded', bytes: Buffer.from(line, 'latin1') });
  }

  readonly #flush = (): void => {
    this.#flushAsked = false;
    if (this.#closed) return;
    this.output.flush();
    const waiting = this.output.waitingBytes;
    if (waiting > limits.connectionOutputBytesMax) return this.output.disconnect(waiting);
    this.#endWhenAnswered();
    this.#onDrain();
    this.#noteHeld();
  };

  #onDrain(): void {
    this.#regulate();
    this.#owner.onRoom();
    if (this.#ending) this.#endWhenAnswered();
    this.#held.noteReplies();
    this.#taken.look();
  }

  /** As when a script pipes its commands in: what came is carried out and answered. */
  #onEnd(): void {
    if (this.#closed) return;
    this.#owner.onInputEnd();
    this.endWhenAnswered();
  }

  #mayBeLarge(): boolean | undefined {
    const may = this.#owner.mayBeLarge();
    this.#inDoubt = may === undefined;
    return may;
  }

  #isFull(): boolean {
    return (
      (this.#inDoubt && this.#mayBeLarge() === undefined) ||
      this.#replies.length >= limits.connectionInFlightMax ||
      this.#replies.requestBytes >= this.#inFlightBytesMax() ||
      this.#stream.bufferedBytes > limits.connectionOutputPauseBytes
    );
  }

  #inFlightBytesMax(): number {
    const { connectionInFlightTightBytes, connectionInFlightBytesMax } = limits;
    const { isTight } = this.#world.requests;
    return isTight ? connectionInFlightTightBytes : connectionInFlightBytesMax;
  }

  #noteHeld(): void {
    if (this.#closed) return;
    const { requestBytes } = this.#replies;
    this.#held.noteRequests(this.#parser.heldBytes + requestBytes + this.#owner.keptBytes());
  }

  /** Reads on exactly while there is room for what may come. */
  #regulate(): void {
    if (this.#closed || this.#closing) return;
    const full = this.#isFull();
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) {
      this.#parser.pause();
      this.#stream.pause();
      return;
    }
    if (!this.#resting) {
      this.#stream.resume();
      this.#walk();
    }
    this.#owner.lanes.start();
    if (this.#isFull()) this.#regulate();
  }

  #endWhenAnswered(): void {
    if (this.#replies.length > 0) return;
    // while it rests, and while there is no room, some of what came has not been taken
    if (this.#ending && !this.#resting && !this.#paused) this.beginClosing();
    if (this.#closing) this.#stream.end();
  }

  #onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    // of a chunk that is being walked nothing more is taken
    this.#closing = true;
    this.#parser.pause();
    this.#held.end();
    this.#taken.close();
    this.gone.abort();
    this.#owner.onClose();
  }
}
