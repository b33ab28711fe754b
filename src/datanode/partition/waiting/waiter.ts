/** One client that waits at its partition's leader, and how far it has come. */
import type { LogIndex } from '../../../common/ids.ts';
import type { BlockingForm } from '../../commands/rows/command.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';

export interface Waiter {
  readonly id: Buffer;
  /** The newest under its id. */
  request: WaitRequest;
  readonly form: BlockingForm;
  /** Place in the order of arrival. */
  readonly order: number;
  /** Entries up to this one did not carry it. */
  since: LogIndex;
  /** Leadership was confirmed after it came. */
  confirmed: boolean;
  /** What was there when it came has been looked at. */
  looked: boolean;
  /** It may be that something was there: it runs in the next entry as if sent just now. */
  asked: boolean;
  withdrawn: boolean;
  /** Only its withdrawal has come to this leader. */
  readonly cameWithdrawn: boolean;
  /** The newest entry that carries it. */
  carriedBy: LogIndex;
  /** That it takes in memory. */
  readonly bytes: number;
  resolve: (outcome: WaitOutcome) => void;
}
