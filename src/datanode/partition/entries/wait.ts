/** How a client that waits reaches the leader of its partition, and what comes of it. */
import type { ErrorCode } from '../../../common/errors.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import type { CommandLine } from './batch.ts';

export interface WaitRequest {
  /** No other request of the cluster ever has it; the same one asks again under it. */
  readonly id: Buffer;
  /** A blocking command, well formed. */
  readonly line: CommandLine;
  readonly protocol: Protocol;
  /** Time is up, or nobody waits any more: it is served only if an entry on its way does it. */
  readonly withdraw: boolean;
}

export type WaitOutcome =
  /** The reply is kept until `confirm`. */
  | { readonly kind: 'served'; readonly reply: Reply }
  /** It was not served, and never will be unless it is asked again. */
  | { readonly kind: 'withdrawn' }
  /** It reads behind what is last: nothing is there yet, and it is to be asked again as `line`. */
  | { readonly kind: 'concrete'; readonly line: CommandLine }
  /** It was asked again under the same id: that one is answered. */
  | { readonly kind: 'superseded' }
  /** Not known here; whether it may be asked again is the code's business. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

export const NOT_LED_HERE: WaitOutcome = {
  kind: 'failed',
  code: 'NOT_LEADER',
  message: 'this replica does not lead',
};
