/** A partition whose commands run for real in memory, and whose leadership and faults are scripted. */
import { systemClock } from '../../../src/common/clock.ts';
import type { ErrorCode } from '../../../src/common/errors.ts';
import type {
  CommandBatch,
  LineResult,
  LocalPartition,
} from '../../../src/datanode/partition/batch.ts';
import { LonePartition } from '../commands/lone-partition.ts';

/** What the next batch meets: so many lines are carried out, the rest gets the code. */
export interface Fault {
  readonly after: number;
  readonly code: ErrorCode;
  /** Lines beyond the first failed one (default: the same code). */
  readonly rest?: ErrorCode;
}

export class ScriptedPartition implements LocalPartition {
  readonly namespace = 'default';
  readonly partition: number;
  isLeader = true;
  term = 1;
  readonly batches: CommandBatch[] = [];
  readonly faults: Fault[] = [];
  /** Batches wait here until it is opened again. */
  gate: Promise<void> = Promise.resolve();
  /** How long each batch takes; what comes too late for its deadline is refused, as proposals do. */
  batchMs = 0;
  readonly #data: LonePartition;

  constructor(partition: number, data: LonePartition) {
    this.partition = partition;
    this.#data = data;
  }

  static async open(partition: number, firstSlot: number, lastSlot: number) {
    const data = await LonePartition.open();
    data.firstSlot = firstSlot;
    data.lastSlot = lastSlot;
    return new ScriptedPartition(partition, data);
  }

  /** Shuts the gate; the result opens it. */
  shut(): () => void {
    let open = () => {};
    this.gate = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  }

  async execute(batch: CommandBatch): Promise<readonly LineResult[]> {
    this.batches.push(batch);
    await this.gate;
    const late = batch.deadlineMs <= systemClock.monotonicMs();
    if (this.batchMs > 0) await new Promise((resolve) => setTimeout(resolve, this.batchMs));
    const fault: Fault | undefined = late ? { after: 0, code: 'CANCELLED' } : this.faults.shift();
    const results: LineResult[] = [];
    for (const [at, line] of batch.lines.entries()) {
      if (fault === undefined || at < fault.after) {
        results.push({ ok: true, reply: await this.#data.call(...line) });
        continue;
      }
      const code = at === fault.after ? fault.code : (fault.rest ?? fault.code);
      results.push({ ok: false, code, message: 'as the script says' });
    }
    return results;
  }
}
