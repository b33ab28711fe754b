/**
 * What clients wait for at one replica: writes on their way through the log, reads on their way to
 * a confirmed leader, and the watches between WATCH and EXEC.
 */
import type { Clock } from '../../common/clock.ts';
import type { Slot } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import { createView } from '../encoding/txn.ts';
import type { RaftNode, ReadState } from '../raft/ready.ts';
import type { AppliedBatch, AppliedEntry } from './applier.ts';
import type { CommandBatch, LineResult } from './batch.ts';
import { encodeEnvelope } from './envelope.ts';
import { Proposals } from './proposals.ts';
import { type ReadGround, Reads } from './reads.ts';
import { Watches } from './watches.ts';

export interface RequestGround extends Omit<ReadGround, 'random'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly raft: RaftNode;
}

export class Requests {
  readonly #ground: RequestGround;
  readonly #proposals = new Proposals();
  readonly #reads: Reads;
  readonly #watches: Watches;

  constructor(ground: RequestGround, slots: { readonly firstSlot: Slot; readonly lastSlot: Slot }) {
    this.#ground = ground;
    const { random, raft, engine, nowMs } = ground;
    this.#reads = new Reads({ ...ground, random: () => random.float() }, slots);
    this.#watches = new Watches({
      view: () => createView(engine()),
      nowMs,
      term: () => raft.term,
      gather: (batch) => this.#proposals.gather(batch),
    });
  }

  /** What is not answered yet. */
  get waiting(): { readonly writes: number; readonly reads: number } {
    return { writes: this.#proposals.count, reads: this.#reads.count };
  }

  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    return batch.kind === 'write' ? this.#watches.gather(batch) : this.#reads.gather(batch);
  }

  /** The turn ends: entries are proposed, a round of reads begins. */
  flush(): void {
    if (this.#proposals.hasGathered) this.#propose();
    if (this.#reads.hasFresh) this.#reads.flush(() => this.#ground.raft.requestRead());
  }

  confirm(states: readonly ReadState[]): void {
    this.#reads.confirm(states);
  }

  onApplied(entries: readonly AppliedEntry[], batch: AppliedBatch): void {
    this.#watches.onChanged(batch.changes);
    for (const entry of entries) this.#proposals.settle(entry.index, entry.term, entry.replies);
  }

  /** All of the partition's data goes now. */
  onClear(): void {
    this.#watches.onClear();
  }

  /** A snapshot replaced the log up to `index`. */
  skipTo(index: number): void {
    this.#proposals.skipTo(index);
  }

  /** Runs reads that had to wait for something other than a round. */
  resume(): void {
    this.#reads.resume();
  }

  /** Gives up on what is past its deadline. */
  expire(): void {
    const nowMs = this.#ground.clock.monotonicMs();
    this.#proposals.expire(nowMs);
    this.#reads.expire(nowMs);
  }

  /** Leadership is gone: reads may be sent elsewhere; what was proposed is settled by the log. */
  stepDown(): void {
    this.#reads.failAll('NOT_LEADER', 'leadership was lost');
  }

  stop(why: string): void {
    this.#proposals.stop();
    this.#reads.failAll('STOPPING', why);
  }

  #propose(): void {
    const { clock, random, raft, nowMs } = this.#ground;
    const timeMs = nowMs();
    this.#proposals.flush(
      clock.monotonicMs(),
      (lines) => encodeEnvelope({ timeMs, seed: random.u32(), body: { family: 'redis', lines } }),
      (data) => raft.propose(data),
    );
  }
}
