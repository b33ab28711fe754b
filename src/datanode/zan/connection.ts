/**
 * A client of ZanRedisDB: its requests are dispatched in order, its replies leave in order. What is
 * for one partition stays in order there; what is for partitions that other nodes lead is refused,
 * so that the client asks the placedriver where they are.
 */
import { messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import type { NodeCommand } from '../commands/command.ts';
import type { Session } from '../commands/node-context.ts';
import { createSubscriber } from '../commands/pubsub-port.ts';
import type { CommandLine } from '../partition/batch.ts';
import { error, OK, type Reply } from '../resp/reply.ts';
import { createRequestParser, type RequestParser } from '../resp/request-parser.ts';
import type { ClientConnection, ConnectionWorld } from '../server/connection-world.ts';
import { badShape } from '../server/dispatch.ts';
import type { LaneItem, LaneWorld } from '../server/lane.ts';
import { LaneSet } from '../server/lane-set.ts';
import { Output } from '../server/output.ts';
import { ReplyQueue } from '../server/reply-queue.ts';
import { createSession } from '../server/session.ts';
import { runKeyed, runScan, type ZanGround } from './commands.ts';
import { PartitionRequest, type Sent } from './partition-request.ts';
import { whyNotHere } from './place.ts';
import { refusal, STOPPED } from './refusals.ts';
import { parseRequest, type ZanRequest } from './request.ts';

/** Clients ask again by themselves, and give up after five seconds. */
const HOLD_MS_MAX = 2_000;

export class ZanConnection implements ClientConnection {
  readonly session: Session;
  readonly #world: ConnectionWorld;
  readonly #stream: ByteStream;
  readonly #parser: RequestParser;
  readonly #replies = new ReplyQueue();
  readonly #output: Output;
  readonly #lanes: LaneSet;
  readonly #ground: ZanGround;
  /** Requests that a pause of all clients holds back, with how to forget that. */
  #held: { readonly requests: Sent[]; readonly forget: () => void } | undefined;
  #flushAsked = false;
  #paused = false;
  /** The node stops: what comes from now on is not begun. */
  #stopping = false;
  /** Nothing more is read; the stream ends with the last reply. */
  #closing = false;
  #closed = false;

  constructor(id: number, local: string, stream: ByteStream, world: ConnectionWorld) {
    this.#world = world;
    this.#stream = stream;
    this.session = createSession({
      id,
      door: 'zan',
      remote: stream.remote,
      local,
      connectedMs: world.clock.wallMs(),
      // nothing that subscribes is served here
      subscriber: createSubscriber(() => {}),
      closeAfterReply: () => this.#beginClosing(),
      kill: () => stream.destroy(),
      queued: () => ({ ...this.#replies.queued(stream.bufferedBytes), transaction: -1 }),
      push: (reply) => {
        const slot = this.#replies.open(0, this.session.protocol);
        this.#settle({ args: [], slot, arrivedMs: 0 }, reply);
      },
    });
    this.#output = new Output(stream, this.#replies, world);
    this.#parser = createRequestParser({
      bulkBytesMax: limits.requestBulkBytesMax,
      onRequest: (args, bytes) => this.#onRequest(args, bytes),
      onProtocolError: (text) => this.#onProtocolError(text),
    });
    this.#lanes = new LaneSet(this.#createLaneWorld(), () => {});
    this.#ground = {
      ...{ world, session: this.session, lanes: this.#lanes },
      settle: (sent, reply) => this.#settle(sent, reply),
    };
    stream.attach({
      onData: (chunk) => this.#onData(chunk),
      onDrain: () => this.#onDrain(),
      onClose: () => this.#onClose(),
    });
  }

  /** Answers what is under way, begins nothing more, and closes. */
  finish(): void {
    this.#stopping = true;
    this.#releaseHeld();
    this.#endWhenAnswered();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #createLaneWorld(): Omit<LaneWorld, 'settle'> {
    const { clock, router, budget, settings } = this.#world;
    return {
      clock,
      budget,
      holdMs: Math.min(settings().holdMs, HOLD_MS_MAX),
      protocol: () => this.session.protocol,
      maxStalenessMs: () => undefined,
      execute: (batch) => router.execute(batch),
      mayStart: (item) => this.#mayStart(item),
      redirect: ({ place }, item) => {
        if (!(item instanceof PartitionRequest)) return undefined;
        const why = whyNotHere(router, this.#world.node, place, item.anywhere);
        return why === undefined ? undefined : refusal(why, item.sent.args);
      },
      onLeader: (group, listener) => router.routes.onLeader(group, listener),
    };
  }

  #onData(chunk: Buffer): void {
    if (this.#closing) return;
    this.#world.stats.inputBytes += chunk.length;
    this.#parser.feed(chunk);
    this.#lanes.start();
    this.#regulate();
  }

  #onRequest(args: CommandLine, bytes: number): void {
    if (this.#closing) return;
    const { clock } = this.#world;
    const slot = this.#replies.open(bytes, this.session.protocol);
    const sent: Sent = { args, slot, arrivedMs: clock.monotonicMs() };
    this.#take(sent);
    if (this.#isFull()) this.#regulate();
  }

  #onProtocolError(text: string): void {
    if (this.#closing) return;
    const slot = this.#replies.open(0, this.session.protocol);
    this.#beginClosing();
    this.#settle({ args: [], slot, arrivedMs: 0 }, error(`ERR ${text}`));
  }

  #take(sent: Sent): void {
    if (this.#held === undefined) this.#dispatch(sent);
    else this.#held.requests.push(sent);
  }

  #dispatch(sent: Sent): void {
    const { session } = this;
    const { args, slot } = sent;
    slot.protocol = session.protocol;
    slot.silent = session.replyMode !== 'on';
    if (session.replyMode === 'skip') session.replyMode = 'on';
    if (this.#stopping) return this.#settle(sent, refusal(STOPPED, args));
    const request = parseRequest(args);
    if (this.#isHeldBack(request, sent)) return;
    if (request.kind === 'wrong') {
      const reply = refusal(request.text, args);
      this.#world.stats.refuse(undefined, reply);
      return this.#settle(sent, reply);
    }
    session.lastCommand = request.command.name;
    session.lastCommandMs = this.#world.clock.wallMs();
    if (request.kind === 'node') this.#runNode(request.command, sent);
    else if (request.kind === 'keyed') runKeyed(this.#ground, request, sent);
    else runScan(this.#ground, request, sent);
  }

  /** CLIENT PAUSE: this request waits, and so do those after it. */
  #isHeldBack(request: ZanRequest, sent: Sent): boolean {
    const { clientPause } = this.#world.watch;
    const line = request.kind === 'keyed' ? request.line : sent.args;
    if (!clientPause.holds(line, () => [])) return false;
    const forget = clientPause.whenOver(() => {
      this.#releaseHeld();
      this.#lanes.start();
    });
    this.#held = { requests: [sent], forget };
    return true;
  }

  #releaseHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    held?.forget();
    for (const sent of held?.requests ?? []) this.#take(sent);
  }

  #runNode(command: NodeCommand, sent: Sent): void {
    const { session } = this;
    const { watch, access, settings, stats } = this.#world;
    const { args, slot } = sent;
    const bad = badShape(command, args, { valueBytesMax: () => settings().valueBytesMax });
    const refused = bad ?? access.refusalOf(session, command, args);
    if (refused !== undefined) {
      stats.refuse(command.name, refused);
      return this.#settle(sent, refused);
    }
    watch.begins(session, command, args);
    // these clients may send a password where none is asked for: ZanRedisDB takes any
    if (command.name === 'auth' && args.length === 2 && access.isOpen) {
      return this.#settle(sent, OK);
    }
    const done = (reply: Reply) => {
      watch.answered(session, command, args, sent.arrivedMs, reply);
      slot.protocol = session.protocol;
      this.#settle(sent, reply);
    };
    try {
      const reply = command.run(args, this.#world.contextOf(session));
      if (reply instanceof Promise) reply.then(done, (failure) => done(failed(command, failure)));
      else done(reply);
    } catch (failure) {
      done(failed(command, failure));
    }
  }

  #settle({ slot }: Sent, reply: Reply): void {
    if (this.#closed) return;
    if (this.#replies.settle(slot, reply)) this.#askFlush();
  }

  #askFlush(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    this.#world.clock.endOfTurn(() => this.#flush());
  }

  #flush(): void {
    this.#flushAsked = false;
    if (this.#closed) return;
    this.#output.flush();
    const waiting = this.#output.waitingBytes;
    if (waiting > limits.connectionOutputBytesMax) return this.#output.disconnect(waiting);
    this.#endWhenAnswered();
    this.#onDrain();
  }

  #onDrain(): void {
    this.#regulate();
    this.#lanes.pumpAll();
  }

  /** A client that reads slowly gets its oldest reply made, and no more than that. */
  #mayStart(item: LaneItem): boolean {
    const pauseBytes = limits.connectionOutputPauseBytes;
    if (this.#stream.bufferedBytes > pauseBytes) return false;
    return this.#replies.readyBytes <= pauseBytes || item.slot === this.#replies.first;
  }

  #isFull(): boolean {
    return (
      this.#replies.length >= limits.connectionInFlightMax ||
      this.#replies.requestBytes >= limits.connectionInFlightBytesMax ||
      this.#stream.bufferedBytes > limits.connectionOutputPauseBytes
    );
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
    this.#stream.resume();
    this.#parser.resume();
    this.#lanes.start();
    if (this.#isFull()) this.#regulate();
  }

  #beginClosing(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#parser.pause();
    this.#stream.resume();
  }

  #endWhenAnswered(): void {
    if (this.#replies.length > 0) return;
    if (this.#stopping) this.#beginClosing();
    if (this.#closing) this.#stream.end();
  }

  #onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#lanes.close();
    this.#held?.forget();
    this.#held = undefined;
    this.#world.watch.stopMonitor(this.session);
    this.#world.onClose(this);
  }
}

function failed({ name }: NodeCommand, failure: unknown): Reply {
  return error(`ERR ${name} failed inside the server: ${messageOf(failure)}`);
}
