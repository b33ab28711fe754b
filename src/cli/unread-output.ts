/** What becomes of a command whose output cannot be written: nobody reads on (`kvorum nodes | head -1`), a disk is full. */
import type { EventEmitter } from 'node:events';
import { messageOf, systemCodeOf } from '../common/errors.ts';

/** Verbs that are there for others than their reader. */
const SERVERS = ['start', 'datanode', 'placedriver'];

/**
 * Ends a verb that only prints when `output` has lost its reader (well), or its place (telling
 * `complain` why); a server goes on, and stops when it is told to. Node.js would end both with an exception.
 */
export function endWhenUnread(
  output: EventEmitter,
  verb: string | undefined,
  exit: (code: number) => void,
  complain: (line: string) => void,
): void {
  const serves = verb !== undefined && SERVERS.includes(verb);
  output.on('error', (failure: Error) => {
    if (serves) return;
    if (systemCodeOf(failure) === 'EPIPE') return exit(0);
    complain(`kvorum: standard output cannot be written: ${messageOf(failure)}`);
    exit(1);
  });
}

/** What is told there nobody hears then: no reason for a verb to end, nor for a server. */
export function goOnUnheard(complaints: EventEmitter): void {
  complaints.on('error', () => {});
}
