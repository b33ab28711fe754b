/**
 * One client: its requests are dispatched in order, its replies leave in order and in one write per
 * turn. What is not for one partition waits for all before it and holds back all after it
 * (decision 10a).
 */
import type { GroupId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import { TurnShare } from '../../common/turn-share.ts';
import { createSubscriber } from '../commands/pubsub/pubsub-port.ts';
import type { Command } from '../commands/rows/command.ts';
import type { Door, Session } from '../commands/rows/node-context.ts';
import { noteWitness } from '../commands/server/witness.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { OK, QUEUED, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { replyTooLarge } from '../resp/reply-pile.ts';
import { ClientStream } from './client-stream.ts';
import type { ConnectionWorld } from './connection-world.ts';
import { type DispatchWorld, dispatch, isHttp, type Target } from './dispatch.ts';
import {
  blockingTarget,
  type ExclusiveGround,
  type ExclusiveRequest,
  runExclusive,
} from './exclusive.ts';
import { goneReply } from './gone.ts';
import { type Fate, NO_GROUP } from './lane.ts';
import { LaneSet, type LanesWorld } from './lane-set.ts';
import { OneRequest } from './one-request.ts';
import { PushOutlet } from './push-outlet.ts';
import { linesOf } from './queued.ts';
import type { ReplySlot } from './reply-queue.ts';
import { createSession } from './session.ts';
import { dispatchWorldOf, transactionWorldOf } from './session-worlds.ts';
import { trackedLanes, tracksNext } from './tracked-lanes.ts';
import { asSent, type ExecTarget, Transaction } from './transaction.ts';
import { isUnknownOutcome } from './unknown-outcome.ts';
import { type WaitingRequest, WaitingRequests } from './waiting-requests.ts';
import { Whereabouts } from './whereabouts.ts';

export class Connection {
  readonly session: Session;
  readonly #world: ConnectionWorld;
  readonly #stream: ClientStream;
  readonly #whereabouts: Whereabouts;
  readonly #lanes: LaneSet;
  readonly #dispatchWorld: DispatchWorld;
  readonly #pushes: PushOutlet;
  readonly #transaction: Transaction;
  readonly #exclusiveGround: ExclusiveGround;
  readonly #waiting: WaitingRequests;
  #exclusive: ExclusiveRequest | undefined;
  #exclusiveRuns = false;
  /** Of its namespace's partitions when it was dispatched. */
  #exclusiveBirth: GroupId = NO_GROUP;
  /** While a pause holds back the first of `#waiting`: forgets that. */
  #heldBack: (() => void) | undefined;
  /** What runs alone shares each turn with other clients. */
  readonly #share: TurnShare;
  /** Of the request that monitors are being shown. */
  #shown: ReplySlot | undefined;
  /** What comes is not run any more. */
  #ended = false;
  /** Nothing more comes. */
  #inputEnded = false;

  constructor(id: number, door: Door, stream: ByteStream, world: ConnectionWorld) {
    this.#world = world;
    this.session = createSession({
      id,
      door,
      remote: stream.remote,
      local: stream.local,
      certificateUser: world.certificateUsers ? stream.secured?.commonName : undefined,
      connectedMs: world.clock.wallMs(),
      subscriber: createSubscriber((one) => this.#pushes.push(one.encoded(this.session.protocol))),
      closeAfterReply: () => this.#takeNoMore(),
      kill: () => this.#stream.destroy(),
      queued: () => ({ ...this.#stream.queued, ...this.#transaction.counts }),
      traffic: () => this.#stream.traffic,
      taken: () => this.#stream.taken(),
      push: (reply) => this.#stream.tell(reply, this.#shown),
      invalidate: (one) =>
        this.#stream.tellBehindKnown(one.encoded(this.session.protocol), this.#pushes),
    });
    this.#share = new TurnShare(world.clock, (wasOver) => {
      if (wasOver) this.#dispatchWaiting();
    });
    this.#whereabouts = new Whereabouts(this.session, world.router);
    this.#dispatchWorld = dispatchWorldOf(this.session, world, this.#whereabouts);
    this.#transaction = new Transaction(transactionWorldOf(this.session, world, this.#whereabouts));
    this.#waiting = new WaitingRequests({
      isHeldUp: () => this.#isHeldUp(),
      take: (args, slot) => this.#take(args, slot),
    });
    this.#lanes = new LaneSet(this.#createLaneWorld(), () => this.#runExclusive());
    this.#stream = new ClientStream(stream, world, {
      lanes: this.#lanes,
      protocol: () => this.session.protocol,
      mayBeLarge: () => this.#mayBeLarge(),
      onRequest: (args, slot) => this.#onRequest(args, slot),
      onRoom: () => this.#onRoom(),
      onInputEnd: () => this.#onInputEnd(),
      keptBytes: () => this.#transaction.queuedBytes,
      onClose: () => this.#onClose(),
    });
    this.#pushes = new PushOutlet(this.#stream.output, world, () => this.#stream.askFlush());
    this.#exclusiveGround = this.#createExclusiveGround();
    this.#stream.open();
  }

  /** How many keys it watches. */
  get watched(): number {
    return this.#transaction.counts.watched;
  }

  /** Answers what is under way, takes nothing more, and closes. */
  finish(): void {
    void this.session.blocked?.end('gone');
    this.#stream.close();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #createExclusiveGround(): ExclusiveGround {
    const { clock, random, logger, watch, waiting } = this.#world;
    const { session } = this;
    return {
      gatherBudget: this.#world.gatherBudget,
      ...{ clock, random, logger, watch, session, lanes: this.#lanes, pushes: this.#pushes },
      gone: () => this.#stream.gone.signal,
      context: () => this.#world.contextOf(session),
      place: (partition) => this.#whereabouts.place(partition, this.#exclusiveBirth),
      redirect: (partition, line) => this.#whereabouts.redirect(partition, line),
      block: (request) => {
        if (session.tracking !== undefined) this.#world.tracking.waits(session, request);
        const blocked = waiting.block(request, this.#world.settings());
        // it takes what is there, and waits for nothing: the client may be gone
        if (this.#inputEnded) void blocked.end('timeout');
        return blocked;
      },
      end: (slot, reply) => this.#endExclusive(slot, reply),
    };
  }

  #createLaneWorld(): LanesWorld {
    const { clock, router, budget } = this.#world;
    return {
      clock,
      budget,
      holdMs: this.#world.settings().holdMs,
      protocol: () => this.session.protocol,
      maxStalenessMs: (items) =>
        this.#whereabouts.mayFollow(items) ? this.#world.settings().replicaStalenessMs : undefined,
      wantsWitness: () => this.session.witnesses !== undefined,
      witnessed: (group, witness) => noteWitness(this.session, group, witness),
      ...trackedLanes(this.session, this.#world, () => this.#exclusiveRuns),
      asker: () => this.#stream.gone,
      mayStart: (item) => this.#stream.room.mayStart(item),
      isNext: (item) => this.#stream.room.isNext(item),
      waitingBytes: () => this.#stream.output.waitingBytes,
      hasRoomFor: (read) => this.#stream.room.hasRoomFor(read),
      redirect: (lane, item) =>
        goneReply(router.routes, lane.place) ?? this.#whereabouts.redirectItem(lane.place, item),
      onLeader: (group, listener) => router.routes.onLeader(group, listener),
    };
  }

  #onRequest(args: CommandLine, slot: ReplySlot): void {
    if (!this.#ended && this.#isHeldUp()) this.#waiting.add({ args, slot });
    else this.#take(args, slot);
    if (this.#isHeldUp()) this.#waiting.noteHeldUp(args);
  }

  #take(args: CommandLine, slot: ReplySlot): void {
    if (this.#ended) this.#drop(slot);
    else this.#dispatch(args, slot);
  }

  /** Behind an AUTH that has not run yet nobody knows. */
  #mayBeLarge(): boolean | undefined {
    const isKnown = this.#world.access.mayBeKnown(this.session);
    return this.#isHeldUp() && (this.#waiting.mayForget || !isKnown) ? undefined : isKnown;
  }

  #isHeldUp(): boolean {
    return this.#exclusive !== undefined || this.#heldBack !== undefined || this.#share.isOver;
  }

  #dispatch(line: CommandLine, slot: ReplySlot): void {
    const direct = dispatch(line, this.#dispatchWorld);
    // what is turned away waits for nothing, as in Redis
    if (isCarriedOut(direct) && this.#isPaused(line)) {
      return this.#holdBack({ args: line, slot });
    }
    const { session } = this;
    slot.protocol = session.protocol;
    slot.silent = session.replyMode !== 'on';
    if (session.replyMode === 'skip') session.replyMode = 'on';
    // also of what is queued or refused: CLIENT LIST tells by it what a client did last, and when
    session.lastCommand = direct.command?.name ?? '';
    session.lastCommandMs = this.#world.clock.wallMs();
    const { target, args } = this.#transaction.divert(direct, line);
    const tracks = tracksNext(session, this.#world, target, this.#transaction.queued);
    if (target.kind === 'reply') {
      if (target.command === undefined && isHttp(line)) return this.#refuseBrowser();
      const runs = target.called && target.reply !== QUEUED;
      if (runs) this.#show(slot, target.command!, line);
      return this.#answerAtOnce(target, slot);
    }
    this.#show(slot, target.command, line, target.kind === 'exec' ? target.queue : undefined);
    const alone = blockingTarget(target, args) ?? target;
    if (alone.kind === 'one') {
      this.#lanes.push(
        this.#whereabouts.place(alone.partition),
        new OneRequest(this, alone, args, slot, this.#world.clock.monotonicMs(), tracks),
      );
      return;
    }
    this.#exclusive = { args: alone.kind === 'blocking' ? alone.line : args, slot, target: alone };
    this.#exclusiveBirth = this.#whereabouts.birth();
    this.#runExclusive();
  }

  /** To those who monitor: to this client itself, if it is one, behind the reply. */
  #show(slot: ReplySlot, command: Command, line: CommandLine, queue?: ExecTarget['queue']): void {
    const { watch } = this.#world;
    this.session.commandsRun += 1 + (queue?.length ?? 0);
    this.#shown = slot;
    if (queue !== undefined) watch.beginsAll(this.session, () => linesOf(queue));
    watch.begins(this.session, command, line);
    this.#shown = undefined;
  }

  /** What the client sent behind this, as behind QUIT, is neither run nor answered. */
  #takeNoMore(): void {
    this.#ended = true;
    this.#stream.beginClosing();
  }

  #drop(slot: ReplySlot): void {
    slot.silent = true;
    this.#stream.settle(slot, OK);
  }

  #refuseBrowser(): void {
    this.#takeNoMore();
    this.#stream.destroy();
  }

  #isPaused(line: CommandLine): boolean {
    return this.#world.watch.clientPause.holds(line, () => this.#transaction.lines);
  }

  /** Clients are paused: this request and those after it wait until they are not. */
  #holdBack(waiting: WaitingRequest): void {
    if (this.#inputEnded) return this.#stream.destroy();
    this.session.heldBack = true;
    this.#heldBack = this.#world.watch.clientPause.whenOver(() => {
      this.#heldBack = undefined;
      this.session.heldBack = false;
      this.#waiting.putBack(waiting);
      this.#dispatchWaiting();
    });
  }

  #answerAtOnce(target: Extract<Target, { kind: 'reply' }>, slot: ReplySlot): void {
    const { stats } = this.#world;
    const { command, reply, called } = target;
    if (command === undefined || !called) stats.refuse(command?.name, reply);
    // what is queued is counted when it runs
    else if (reply !== QUEUED) stats.count(command.name, 0, reply);
    this.#stream.settle(slot, reply);
  }

  /** A command of one partition has its answer. */
  answered(request: OneRequest, answer: Reply, fate: Fate): void {
    const { command, arrivedMs, slot, line } = request;
    const reply = this.#bounded(command, answer);
    const shown = asSent(command, line);
    if (shown !== line && reply.kind === 'error') this.#transaction.refusedWatch(line);
    const away = fate === 'not-proposed';
    this.#world.watch.answered(this.session, command, shown, arrivedMs, reply, { away });
    this.#settle(command, slot, reply);
  }

  /**
   * A client of Redis knows one kind of unknown outcome, the loss of its connection: an error reply
   * would tell it that nothing happened. Who sends under a session asks again; who has gone has lost
   * it already.
   */
  #settle(command: Command | undefined, slot: ReplySlot, reply: Reply): void {
    const ends = isUnknownOutcome(reply) && command?.carries === undefined && !slot.silent;
    if (!ends || this.#stream.isClosed) return this.#stream.settle(slot, reply);
    const [client, name, why] = [this.session.remote, command?.name, reply.text];
    const text = 'a connection ends: nobody can tell what became of its command';
    this.#world.logger.warn(text, { client, command: name, outcome: 'unknown', why });
    this.#stream.endAt(slot, reply);
  }

  /** Runs the command that waits for all before it, once all before it are answered. */
  #runExclusive(): void {
    const next = this.#exclusive;
    if (next === undefined || this.#exclusiveRuns || this.#lanes.unanswered > 0) return;
    if (this.#stream.isClosed) return;
    // what it answers is made here: no more of it than the client takes
    if (next.target.kind === 'node' && !this.#stream.room.mayStart(next)) return;
    this.#exclusiveRuns = true;
    this.#share.begin();
    runExclusive(this.#exclusiveGround, next);
  }

  #endExclusive(slot: ReplySlot, reply: Reply): void {
    const command = this.#exclusive?.target.command;
    this.#exclusive = undefined;
    this.#exclusiveRuns = false;
    this.#settle(command, slot, this.#bounded(command, reply));
    this.#pushes.release();
    if (this.session.tracking !== undefined) this.#world.tracking.ended(this.session);
    this.#share.note();
    this.#dispatchWaiting();
  }

  #onRoom(): void {
    this.#lanes.pumpAll();
    this.#runExclusive();
  }

  #dispatchWaiting(): void {
    this.#waiting.release();
    this.#stream.lookAgain();
    this.#lanes.start();
  }

  /** What a read answers, by this node's own bound; a write has been carried out. */
  #bounded(command: Command | undefined, reply: Reply): Reply {
    const { replyBytesMax } = this.#world.settings();
    if (replyBytesMax === limits.replyBytesMax || command?.kind !== 'read') return reply;
    if (replyBytes(reply) <= replyBytesMax) return reply;
    return replyTooLarge('a command that reads it in parts', replyBytesMax).reply;
  }

  /** Who waits for others is let go, as in Redis: nobody can tell whether the client is there. */
  #onInputEnd(): void {
    this.#inputEnded = true;
    if ((this.session.blocked ?? this.#heldBack) !== undefined) this.#stream.destroy();
  }

  #onClose(): void {
    void this.session.blocked?.end('gone');
    this.#lanes.close();
    this.#waiting.forgetAll();
    this.#heldBack?.();
    this.#world.watch.stopMonitor(this.session);
    this.#world.onClose(this);
  }
}

/** Not turned away: the command itself answers, now or later. */
function isCarriedOut(target: Target): boolean {
  return target.kind !== 'reply' || target.called;
}
