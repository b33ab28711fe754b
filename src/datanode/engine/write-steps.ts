/**
 * One atomic write to LevelDB. A large batch is handed over in steps: 100,000 operations at once
 * hold the event loop for 150 ms. An operation costs 1 µs in a chained batch and 2.2 µs in the array
 * form; but the array's native memory is freed with the write, that of a chained batch goes with its
 * object, at the next garbage collection: few operations with many bytes take the array form.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import { type TurnWork, turnWorkOf } from '../../common/turn-work.ts';
import type { BatchOperation, BatchOperations, PreparedPart } from './engine.ts';
import { enginesShare } from './pool-share.ts';
import { bytesOf } from './write-queue.ts';

/** What is used of a LevelDB. */
export interface Batching {
  batch(operations: BatchOperation[]): Promise<void>;
  batch(): ChainedBatch;
}

interface ChainedBatch {
  put(key: Buffer, value: Buffer): unknown;
  del(key: Buffer): unknown;
  write(): Promise<void>;
  close(): Promise<void>;
}

/** Turns of the event loop. */
export interface Turn {
  nowMs(): number;
  /** Resolves in a later one. */
  next(): Promise<void>;
  readonly work: TurnWork;
}

export function turnsOf(clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>): Turn {
  return {
    nowMs: () => clock.monotonicMs(),
    next: () => new Promise((resolve) => clock.endOfTurn(resolve)),
    work: turnWorkOf(clock),
  };
}

/** So few operations make no steps, however large they are. */
const FEW = 16;
/** So few cost no more as an array, which is no object more to collect. */
const VERY_FEW = 3;
/** Native memory that may wait for the garbage collector. */
const CHAINED_BYTES_MAX = 65_536;
/** Operations handed over before the clock is asked. */
const STEP = 32;
/** More operations than these do not come on top of a turn in which commands had their measure. */
const SOME = 64;

export async function writeInSteps(
  level: Batching,
  operations: BatchOperations,
  turn: Turn,
): Promise<void> {
  if (isHandedAtOnce(operations)) return enginesShare.run(() => level.batch([...operations]));
  turn.work.beginHanding();
  let part: PreparedPart;
  try {
    if (operations.length > SOME && turn.work.isCommandsOver) await turn.next();
    part = await prepareInSteps(level, operations[Symbol.iterator](), Infinity, turn);
  } finally {
    turn.work.endHanding();
  }
  await part.write();
}

/** The next of `operations` as a batch, of about `bytesMax`; to be written, or it is never freed. */
export async function prepareInSteps(
  level: Batching,
  operations: Iterator<BatchOperation>,
  bytesMax: number,
  turn: Turn,
): Promise<PreparedPart> {
  const batch = level.batch();
  try {
    turn.work.beginHanding();
    const filling = fill(batch, operations, bytesMax, turn);
    const isLast = await filling.finally(() => turn.work.endHanding());
    const write = () => enginesShare.run(() => batch.write()).finally(() => batch.close());
    return { isLast, write };
  } catch (error) {
    await batch.close();
    throw error;
  }
}

/** True when there are no operations behind these. */
async function fill(
  batch: ChainedBatch,
  operations: Iterator<BatchOperation>,
  bytesMax: number,
  turn: Turn,
): Promise<boolean> {
  let count = 0;
  let bytes = 0;
  let left = bytesMax;
  let isLast = false;
  let sinceMs = beginTurn(turn);
  while (left > 0) {
    const isLate = ++count % STEP === 0 && turn.work.isHandedOver(sinceMs);
    if (isLate || count > limits.engineBatchStep || bytes > limits.engineBatchBytesMax) {
      turn.work.noteHanded(sinceMs);
      await turn.next();
      count = 0;
      bytes = 0;
      sinceMs = beginTurn(turn);
    }
    const { done, value: operation } = operations.next();
    if (done) {
      isLast = true;
      break;
    }
    left -= operation.key.length;
    if (operation.type === 'del') {
      batch.del(operation.key);
      continue;
    }
    bytes += operation.value.length;
    left -= operation.value.length;
    batch.put(operation.key, operation.value);
  }
  turn.work.noteHanded(sinceMs);
  return isLast;
}

/** Since when it works in this one. */
function beginTurn({ work, nowMs }: Turn): number {
  work.begin();
  return nowMs();
}

function isHandedAtOnce(operations: BatchOperations): boolean {
  if (operations.length <= VERY_FEW) return true;
  return operations.length <= FEW && bytesOf(operations) > CHAINED_BYTES_MAX;
}
