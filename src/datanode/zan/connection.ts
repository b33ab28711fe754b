/**
 * A client of ZanRedisDB: its requests are dispatched in order, its replies leave in order. What is
 * for one partition stays in order there; what is for partitions that other nodes lead is refused,
 * so that the client asks the placedriver where they are.
 */
import { messageOf } from '../../common/errors.ts';
import type { ByteStream } from '../../common/network.ts';
import { createSubscriber } from '../commands/pubsub/pubsub-port.ts';
import type { NodeCommand } from '../commands/rows/command.ts';
import type { Session } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, OK, type Reply } from '../resp/reply.ts';
import { ClientStream } from '../server/client-stream.ts';
import type { ClientConnection, ConnectionWorld } from '../server/connection-world.ts';
import { LaneSet, type LanesWorld } from '../server/lane-set.ts';
import { silences } from '../server/push-outlet.ts';
import type { ReplySlot } from '../server/reply-queue.ts';
import { badShape } from '../server/request-shape.ts';
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
  readonly watched = 0;
  readonly #world: ConnectionWorld;
  readonly #stream: ClientStream;
  readonly #lanes: LaneSet;
  readonly #ground: ZanGround;
  /** Requests that a pause of all clients holds back, with how to forget that. */
  #held: { readonly requests: Sent[]; readonly forget: () => void } | undefined;
  /** The node stops: what comes from now on is not begun. */
  #stopping = false;

  constructor(id: number, stream: ByteStream, world: ConnectionWorld) {
    this.#world = world;
    this.session = createSession({
      id,
      door: 'zan',
      remote: stream.remote,
      local: stream.local,
      certificateUser: world.certificateUsers ? stream.secured?.commonName : undefined,
      connectedMs: world.clock.wallMs(),
      // nothing that subscribes is served here
      subscriber: createSubscriber(() => {}),
      closeAfterReply: () => this.#stream.beginClosing(),
      kill: () => this.#stream.destroy(),
      queued: () => ({ ...this.#stream.queued, transaction: -1, watched: 0 }),
      traffic: () => this.#stream.traffic,
      taken: () => this.#stream.taken(),
      push: (reply) => this.#stream.answer(reply),
      // it tracks nothing, and nobody can redirect to it
      invalidate: () => {},
    });
    this.#lanes = new LaneSet(this.#createLaneWorld(), () => {});
    this.#ground = {
      ...{ world, session: this.session, lanes: this.#lanes },
      settle: (sent, reply) => this.#settle(sent, reply),
    };
    this.#stream = new ClientStream(stream, world, {
      lanes: this.#lanes,
      protocol: () => this.session.protocol,
      // behind an AUTH that is held back nobody knows
      mayBeLarge: () => world.access.mayBeKnown(this.session) || (this.#held ? undefined : false),
      onRequest: (args, slot) => this.#onRequest(args, slot),
      onRoom: () => this.#lanes.pumpAll(),
      onInputEnd: () => {
        if (this.#held !== undefined) this.#stream.destroy();
      },
      keptBytes: () => 0,
      onClose: () => this.#onClose(),
    });
    this.#stream.open();
  }

  /** Answers what is under way, begins nothing more, and closes. */
  finish(): void {
    this.#stopping = true;
    this.#stream.endWhenAnswered();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #createLaneWorld(): LanesWorld {
    const { clock, router, budget, settings } = this.#world;
    return {
      clock,
      budget,
      holdMs: Math.min(settings().holdMs, HOLD_MS_MAX),
      protocol: () => this.session.protocol,
      maxStalenessMs: () => undefined,
      wantsWitness: () => false,
      witnessed: () => {},
      execute: (batch) => router.execute(batch),
      asker: () => this.#stream.gone,
      mayStart: (item) => this.#stream.room.mayStart(item),
      isNext: (item) => this.#stream.room.isNext(item),
      waitingBytes: () => this.#stream.output.waitingBytes,
      hasRoomFor: (read) => this.#stream.room.hasRoomFor(read),
      redirect: ({ place }, item) => {
        if (!(item instanceof PartitionRequest)) return undefined;
        const why = whyNotHere(router, this.#world.node, place, item.anywhere);
        return why === undefined ? undefined : refusal(why, item.sent.args);
      },
      onLeader: (group, listener) => router.routes.onLeader(group, listener),
    };
  }

  #onRequest(args: CommandLine, slot: ReplySlot): void {
    this.#take({ args, slot, arrivedMs: this.#world.clock.monotonicMs() });
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
    session.commandsRun++;
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
    this.#stream.lookAgain();
  }

  #runNode(command: NodeCommand, sent: Sent): void {
    const { session } = this;
    const { watch, access, settings, stats } = this.#world;
    const { args, slot } = sent;
    const bad = badShape(command, args, settings().valueBytesMax);
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
    const wasOff = session.replyMode === 'off';
    const done = (reply: Reply) => {
      watch.answered(session, command, args, sent.arrivedMs, reply);
      slot.protocol = session.protocol;
      slot.silent = silences(command, session, slot.silent && !wasOff);
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
    this.#stream.settle(slot, reply);
  }

  #onClose(): void {
    this.#lanes.close();
    this.#held?.forget();
    this.#held = undefined;
    this.#world.onClose(this);
  }
}

function failed({ name }: NodeCommand, failure: unknown): Reply {
  return error(`ERR ${name} failed inside the server: ${messageOf(failure)}`);
}
