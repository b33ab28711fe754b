/**
 * Which keys of a partition have changed, as a node asks that keeps what its clients cache (CLIENT
 * TRACKING). Changes are told by their place in the log, which is the same at every replica.
 */
import type { ErrorCode } from '../../../common/errors.ts';
import type { LogIndex } from '../../../common/ids.ts';

export interface ChangesRequest {
  /** Those of later entries are asked for; undefined: those from now on. */
  readonly after: LogIndex | undefined;
  /** A round is to confirm first that the replica leads, and has applied all that was acknowledged. */
  readonly proves: boolean;
  /** Whoever leads: what this replica applies is asked for. */
  readonly ofReplica: boolean;
}

/** What became visible at once. */
export interface ChangedKeys {
  /** The last entry of it. */
  readonly index: LogIndex;
  /** It is one command of that one entry. */
  readonly alone: boolean;
  /** Any key of the partition may have changed. */
  readonly all: boolean;
  readonly keys: readonly Buffer[];
}

export type ChangesAnswer =
  | {
      readonly kind: 'told';
      /** Changes up to there are told: what is to be asked for next is behind it. */
      readonly upTo: LogIndex;
      /** What changed behind `after` is not known any more: from `upTo` on it is. */
      readonly anew: boolean;
      /** All changes are told that were acknowledged before it was asked. */
      readonly proven: boolean;
      readonly changes: readonly ChangedKeys[];
    }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
