/** A partition whose commands run for real in memory, and whose leadership and faults are scripted. */

import { systemClock } from '../../../src/common/clock.ts';
import type { ErrorCode } from '../../../src/common/errors.ts';
import type {
  CommandBatch,
  EntryFate,
  LineResult,
  LocalPartition,
} from '../../../src/datanode/partition/entries/batch.ts';
import type { ChangesAnswer } from '../../../src/datanode/partition/entries/changes.ts';
import type { WaitOutcome, WaitRequest } from '../../../src/datanode/partition/entries/wait.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
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
  readonly id = 1;
  readonly stopped = false;
  isLeader = true;
  term = 1;
  readonly batches: CommandBatch[] = [];
  readonly faults: Fault[] = [];
  readonly confirmed: Buffer[] = [];
  /** Batches wait here until it is opened again. */
  gate: Promise<void> = Promise.resolve();
  /** How long each batch takes; what comes too late for its deadline is refused, as proposals do. */
  batchMs = 0;
  /** Whoever wants to wait is refused with it. */
  waitsRefused: ErrorCode | undefined;
  readonly #data: LonePartition;
  /** What clients that wait were given, by id: who asks again is told the same. */
  readonly #given = new Map<string, Reply>();
  /** Those who wait look again. */
  #wake: (() => void)[] = [];

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

  /** Tells of no change. */
  async changes(): Promise<ChangesAnswer> {
    return { kind: 'failed', code: 'NOT_LEADER', message: 'as the script says' };
  }

  /** Served when something is there, else once it is withdrawn or nobody listens any more. */
  async wait(request: WaitRequest, gone?: AbortSignal): Promise<WaitOutcome> {
    const code = this.waitsRefused;
    if (code !== undefined) return { kind: 'failed', code, message: 'no room as the script says' };
    const id = request.id.toString('hex');
    const reply = this.#given.get(id) ?? (await this.#data.call(...request.line));
    if (!reply.kind.startsWith('null')) {
      this.#given.set(id, reply);
      return { kind: 'served', reply };
    }
    const outcome = { kind: 'withdrawn' } as const;
    if (request.withdraw) return outcome;
    await new Promise<void>((resolve) => {
      this.#wake.push(resolve);
      gone?.addEventListener('abort', () => resolve());
    });
    return gone?.aborted ? outcome : this.wait(request, gone);
  }

  fateOf(): EntryFate {
    return { kind: 'forgotten' };
  }

  confirmServed(ids: readonly Buffer[]): void {
    this.confirmed.push(...ids);
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
    for (const wake of this.#wake.splice(0)) wake();
    return results;
  }
}

/** The outcomes of withdrawals are not told before the result is called. */
export function keepWithdrawals(partitions: readonly ScriptedPartition[]): () => void {
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  for (const partition of partitions) {
    const wait = partition.wait.bind(partition);
    partition.wait = async (request, gone) => {
      if (request.withdraw) await told;
      return wait(request, gone);
    };
  }
  return tell;
}
