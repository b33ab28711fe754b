/**
 * Puts writes in order: one in flight, those that wait meanwhile are joined into one batch (still
 * atomic each, in the order of the calls). After the first failure nothing more is written: what
 * the store holds is then a prefix of what was asked for.
 */
import { assert } from '../../common/assert.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { BatchOperation, BatchOperations, KeyRange } from './engine.ts';

/** What the queue writes to; called one at a time. */
export interface WriteTarget {
  batch(operations: BatchOperations): Promise<void>;
  clear(range: KeyRange): Promise<void>;
}

type Work =
  | {
      readonly kind: 'batch';
      readonly operations: BatchOperations;
      /** Never joined with others; nor is one of more than `limits.engineBatchStep` operations. */
      readonly alone: boolean;
    }
  | { readonly kind: 'clear'; readonly range: KeyRange };

interface Waiting {
  readonly work: Work;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class WriteQueue {
  readonly #target: WriteTarget;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #failure: KvorumError | undefined;
  #closed = false;

  constructor(target: WriteTarget) {
    this.#target = target;
  }

  batch(operations: BatchOperations): Promise<void> {
    return this.#add({ kind: 'batch', operations, alone: false });
  }

  clear(range: KeyRange): Promise<void> {
    return this.#add({ kind: 'clear', range });
  }

  /** As `batch`, and is a record of its own in the store's log. */
  batchAlone(operations: BatchOperations): Promise<void> {
    return this.#add({ kind: 'batch', operations, alone: true });
  }

  /** Resolves when every write asked for before has ended; rejects when one failed. */
  async settled(): Promise<void> {
    // an empty batch keeps its place in the order and writes nothing
    await this.#add({ kind: 'batch', operations: [], alone: false });
  }

  /** Refuses all further writes with `error`, unless an earlier failure does; returns which. */
  fail(error: KvorumError): KvorumError {
    this.#failure ??= error;
    return this.#failure;
  }

  /** Refuses further writes and resolves when those in the queue have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #add(work: Work): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#closed) return Promise.reject(new KvorumError('STOPPING', 'the engine is closed'));
    if (this.#waiting.length >= limits.engineWritesWaitingMax) return Promise.reject(queueFull());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      try {
        if (this.#failure) throw this.#failure;
        await this.#write(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        const failure = this.fail(writeFailure(error));
        for (const { reject } of group) reject(failure);
      }
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let count = 0;
    let bytes = 0;
    for (const { work } of this.#waiting) {
      if (work.kind === 'clear' || work.alone) break;
      // one of many operations costs a turn of the event loop to add up or to copy
      if (work.operations.length > limits.engineBatchStep) break;
      bytes += bytesOf(work.operations);
      if (count > 0 && bytes > limits.engineBatchBytesMax) break;
      count++;
    }
    const rest = this.#waiting.splice(Math.max(count, 1));
    const group = this.#waiting;
    this.#waiting = rest;
    assert(group.length > 0, 'a group holds a write');
    return group;
  }

  #write(group: readonly Waiting[]): Promise<void> {
    const first = group[0]!.work;
    if (first.kind === 'clear') return this.#target.clear(first.range);
    if (group.length === 1) return this.#writeBatch(first.operations);
    const operations: BatchOperation[] = [];
    for (const { work } of group) {
      assert(work.kind === 'batch', 'a clear goes alone');
      for (const operation of work.operations) operations.push(operation);
    }
    return this.#writeBatch(operations);
  }

  #writeBatch(operations: BatchOperations): Promise<void> {
    return operations.length === 0 ? Promise.resolve() : this.#target.batch(operations);
  }
}

/** What an engine answers when no more writes may wait. */
export function queueFull(): KvorumError {
  return new KvorumError('BUSY', `engine: ${limits.engineWritesWaitingMax} writes wait already`);
}

/** What a write failed of, in our words: the disk, unless who failed knows better. */
export function writeFailure(error: unknown): KvorumError {
  if (error instanceof KvorumError) return error;
  return new KvorumError('DISK_FAILED', messageOf(error), { cause: error });
}

/** Bytes of keys and values. */
export function bytesOf(operations: BatchOperations): number {
  let bytes = 0;
  for (const operation of operations) {
    bytes += operation.key.length + (operation.type === 'put' ? operation.value.length : 0);
  }
  return bytes;
}
