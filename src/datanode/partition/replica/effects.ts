/**
 * Carries out what the raft core hands out: entries into the log, committed ones into the engine,
 * messages to the peers. What the core must hear of afterwards is given back in the order in which
 * it happened; responses wait for the log (decision 5).
 */
import type { ReplicaId } from '../../../common/ids.ts';
import type { Message, PeerMessage } from '../../raft/message.ts';
import type { RaftNode } from '../../raft/ready.ts';
import type { Applier } from '../applying/applier.ts';
import type { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import type { GroupTime } from '../storage/group-time.ts';
import type { AppendWork, LogWriter } from '../storage/log-writer.ts';
import { guarded } from '../turns/turns.ts';
import type { ReplicaWorld } from './replica-world.ts';

export interface EffectsGround {
  readonly self: ReplicaId;
  readonly world: ReplicaWorld;
  readonly raft: RaftNode;
  readonly writer: LogWriter;
  readonly applier: Applier;
  readonly snapshots: ReplicaSnapshots;
  readonly time: GroupTime;
  stopped(): boolean;
  /** The replica stops: what is told it contradicts what it holds. */
  fail(failure: unknown): void;
}

export class Effects {
  readonly #ground: EffectsGround;

  constructor(ground: EffectsGround) {
    this.#ground = ground;
  }

  carryOut(message: Message): void {
    const { self, world, raft, applier, snapshots } = this.#ground;
    switch (message.type) {
      case 'storageAppend':
        this.#append(message);
        return;
      case 'storageApply':
        applier.enqueue(
          message.entries,
          world.meters.timeApply(world.clock, () => this.#deliver(message.responses)),
        );
        return;
      case 'storageAppendResponse':
      case 'storageApplyResponse':
        this.#deliver([message]);
        return;
      case 'snapshot':
        snapshots.send(message);
        return;
      default:
        if (message.to === self) raft.step(message);
        else world.send(message);
    }
  }

  #append(work: AppendWork): void {
    const { snapshots, time, writer } = this.#ground;
    const deliver = () => this.#deliver(work.responses);
    if (work.snapshot !== undefined) {
      snapshots.install(work.snapshot, work, deliver);
      return;
    }
    time.observeEntries(work.entries);
    writer.append(work, deliver);
  }

  /** Called by what all replicas share, as the log: whose the failure is has it alone. */
  #deliver(responses: readonly Message[]): void {
    const { world, stopped } = this.#ground;
    if (stopped()) return;
    guarded(this.#ground, () => this.#hand(responses));
    world.requestTurn();
  }

  #hand(responses: readonly Message[]): void {
    const { self, world, raft } = this.#ground;
    for (const message of responses) {
      const own =
        message.to === self ||
        message.type === 'storageAppendResponse' ||
        message.type === 'storageApplyResponse';
      if (own) raft.step(message);
      else world.send(message as PeerMessage);
    }
  }
}
