/** What becomes of a command whose output nobody reads any more (`kvorum nodes | head -1`). */
import type { EventEmitter } from 'node:events';
import { systemCodeOf } from '../common/errors.ts';

/** Verbs that are there for others than their reader. */
const SERVERS = ['start', 'datanode', 'placedriver'];

/**
 * Ends a verb that only prints when `output` has lost its reader; a server goes on, and stops when
 * it is told to. Node.js would end both with an exception. Other failures stay one.
 */
export function endWhenUnread(
  output: EventEmitter,
  verb: string | undefined,
  exit: (code: number) => void,
): void {
  const serves = verb !== undefined && SERVERS.includes(verb);
  output.on('error', (failure: Error) => {
    if (systemCodeOf(failure) !== 'EPIPE') throw failure;
    if (!serves) exit(0);
  });
}
