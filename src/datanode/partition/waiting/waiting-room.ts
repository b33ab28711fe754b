/** How many may wait at a partition's leader, and what their requests take of its memory. */
import type { ErrorCode } from '../../../common/errors.ts';
import { limits } from '../../../common/limits.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';
import { waiterBytes } from '../entries/waiter-codec.ts';

const ARGUMENT_BYTES = 128;

/** Near enough: keys are held as names, too, and of short arguments the objects take most of it. */
export function memoryBytes(request: Pick<WaitRequest, 'id' | 'line'>): number {
  return 2 * waiterBytes(request) + request.line.length * ARGUMENT_BYTES;
}

/** What one more is told when there is no room for it. */
export function refusalOfMore(count: number, bytes: number): WaitOutcome | undefined {
  const { waitersPerPartitionMax, waiterBytesPerPartitionMax } = limits;
  if (count >= waitersPerPartitionMax) {
    return failed('BUSY', `more than ${waitersPerPartitionMax} clients wait`);
  }
  if (bytes < waiterBytesPerPartitionMax) return undefined;
  const text = `clients wait with requests of more than ${waiterBytesPerPartitionMax} bytes`;
  return failed('BUSY', text);
}

export function failed(code: ErrorCode, message: string): WaitOutcome {
  return { kind: 'failed', code, message };
}
