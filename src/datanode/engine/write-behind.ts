/**
 * Engines that answer a small write before the engine beneath has it. What makes writes durable is the
 * raft log, so a write is done when readers see it: it is gathered in memory (`pending-writes.ts`) and
 * goes beneath with others, a few milliseconds later or when there are many. An engine batch per raft
 * entry costs two switches of threads and a turn of the event loop.
 *
 * What goes beneath by itself (a large batch, the clearing of a range) waits until all before it is
 * there, and what comes after it waits for it.
 */
import type { Clock } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import { UnderWay } from '../../common/under-way.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from './engine.ts';
import type { Pending } from './pending.ts';
import { PendingReader, PendingSnapshot } from './pending-reader.ts';
import { PendingWrites } from './pending-writes.ts';
import { bytesOf, queueFull } from './write-queue.ts';

export interface WriteBehindOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** A larger batch goes beneath by itself; by default `limits.engineBehindBatchBytesMax`. */
  readonly batchBytesMax?: number;
  /**
   * Engine `name` takes nothing any more, and what was written last is not in it: nobody may be about
   * to write who would hear of that. Called once for each that was opened.
   */
  onFailure?(name: string, error: KvorumError): void;
}

/** The same engines; a small write is done as soon as readers see it. */
export function withWriteBehind(engines: EngineHost, options: WriteBehindOptions): EngineHost {
  const { clock, batchBytesMax = limits.engineBehindBatchBytesMax } = options;
  const opened = new Map<string, WriteBehindEngine>();
  return {
    open: async (name) => {
      const { engine: beneath, report } = await engines.open(name);
      const onFailure = (error: KvorumError) => options.onFailure?.(name, error);
      const writes = new PendingWrites(beneath, clock, onFailure);
      const engine = new WriteBehindEngine(beneath, writes, batchBytesMax);
      opened.set(name, engine);
      return { engine, report };
    },
    remove: async (name) => {
      // what is pending must not come after the engine has gone
      await opened.get(name)?.close();
      opened.delete(name);
      await engines.remove(name);
    },
    list: () => engines.list(),
    verifyTables: (name, pace) => engines.verifyTables(name, pace),
  };
}

type Work =
  | { readonly kind: 'small' | 'large'; readonly operations: BatchOperations }
  | { readonly kind: 'clear'; readonly range: KeyRange };

interface Waiting {
  readonly work: Work;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const DONE: Promise<void> = Promise.resolve();

export class WriteBehindEngine implements Engine {
  /** Has what was written some time ago. */
  readonly beneath: Engine;
  readonly #writes: PendingWrites;
  readonly #batchBytesMax: number;
  readonly #reader: PendingReader;
  /** In the order of the calls; the first is being carried out. */
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  readonly #syncing = new UnderWay();
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(beneath: Engine, writes: PendingWrites, batchBytesMax: number) {
    this.beneath = beneath;
    this.#writes = writes;
    this.#batchBytesMax = batchBytesMax;
    this.#reader = new PendingReader(beneath, () => this.#layers());
  }

  /** What `beneath` may not have, in an order in which it may be written there. */
  pending(): BatchOperation[] {
    return [...this.#writes.layers].reverse().flatMap((layer) => layer.operations());
  }

  getSync(key: Buffer): Buffer | undefined {
    return this.#reader.getSync(key);
  }

  iterate(range: KeyRange): EngineIterator {
    return this.#reader.iterate(range);
  }

  snapshot(): EngineSnapshot {
    const isPending = this.#layers().length > 0;
    const snapshot = this.beneath.snapshot();
    if (!isPending) return snapshot;
    return new PendingSnapshot(snapshot, this.#writes.freeze(), () => this.#layers());
  }

  write(operations: BatchOperations): Promise<void> {
    const kind = this.#isSmall(operations) ? 'small' : 'large';
    const mayJoin = kind === 'small' && this.#waiting.length === 0 && !this.#refusal;
    if (mayJoin && this.#writes.gather(operations)) return DONE;
    return this.#add({ kind, operations });
  }

  clearRange(range: KeyRange): Promise<void> {
    return this.#add({ kind: 'clear', range });
  }

  approximateBytes(): Promise<number> {
    return this.beneath.approximateBytes();
  }

  sync(): Promise<void> {
    return this.#syncing.add(this.#sync());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #isSmall(operations: BatchOperations): boolean {
    if (operations.length > limits.engineBehindBatchOperationsMax) return false;
    return bytesOf(operations) <= this.#batchBytesMax;
  }

  #layers(): readonly Pending[] {
    if (this.#isClosed) throw closedError();
    return this.#writes.layers;
  }

  /** Why nothing is taken any more. */
  get #refusal(): KvorumError | undefined {
    return this.#writes.failure ?? (this.#closing && closedError());
  }

  #add(work: Work): Promise<void> {
    const refusal = this.#refusal;
    if (refusal) return Promise.reject(refusal);
    if (this.#waiting.length >= limits.engineWritesWaitingMax) return Promise.reject(queueFull());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      try {
        await this.#carryOut(first.work);
        first.resolve();
      } catch (error) {
        first.reject(this.#writes.fail(error));
      }
      this.#waiting.shift();
    }
    this.#running = undefined;
  }

  async #carryOut(work: Work): Promise<void> {
    if (work.kind === 'small') {
      if (this.#writes.failure) throw this.#writes.failure;
      while (!this.#writes.gather(work.operations)) await this.#writes.landed();
      return;
    }
    await this.#writes.flush();
    if (work.kind === 'clear') await this.beneath.clearRange(work.range);
    else await this.beneath.write(work.operations);
  }

  async #sync(): Promise<void> {
    const refusal = this.#refusal;
    if (refusal) throw refusal;
    // behind those that wait to be gathered
    if (this.#waiting.length > 0) await this.write([]);
    await this.#writes.flush();
    try {
      await this.beneath.sync();
    } catch (error) {
      throw this.#writes.fail(error);
    }
  }

  async #close(): Promise<void> {
    await this.#running;
    // of a failure its owner was told
    await this.#writes.flush().catch(() => {});
    await this.#syncing.settled();
    this.#isClosed = true;
    await this.beneath.close();
  }
}

function closedError(): KvorumError {
  return new KvorumError('STOPPING', 'the engine is closed');
}
