/**
 * How commands reach a partition: in batches of one kind, in the order they take effect. One lane
 * (a connection and a partition) has at most one batch under way: nothing overtakes (decision 10a).
 */

import type { ErrorCode } from '../../../common/errors.ts';
import type {
  GroupId,
  LogIndex,
  Namespace,
  PartitionId,
  ReplicaId,
  Term,
} from '../../../common/ids.ts';
import type { Gone } from '../../../common/lazy-abort.ts';
import type { Room } from '../../../common/room.ts';
import type { ReadRun } from '../../commands/rows/command.ts';
import type { Witness } from '../../commands/server/witness.ts';
import type { OnceMark } from '../../encoding/sessions/sessions.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import type { ChangesAnswer, ChangesRequest } from './changes.ts';
import type { WaitOutcome, WaitRequest } from './wait.ts';

export type { Witness } from '../../commands/server/witness.ts';

/** A command's name and arguments. */
export type CommandLine = readonly Buffer[];

/** A read as its command row made it. */
export interface PreparedRead {
  readonly run: ReadRun;
  /** Touches exactly one engine key. */
  readonly singlePoint: boolean;
}

export interface CommandBatch {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  /** Only to be taken on by this group: the namespace may have been deleted and made anew. */
  readonly group?: GroupId | undefined;
  readonly kind: 'read' | 'write';
  readonly lines: readonly CommandLine[];
  /** Of reads that came in at this node: what is parsed already, by line. */
  readonly prepared?: readonly (PreparedRead | undefined)[] | undefined;
  readonly protocol: Protocol;
  /** Only to be taken on by a leader of this term; undefined: whoever leads. */
  readonly term: Term | undefined;
  /** Of reads that another node sent here: its replica, whose term was the batch's when it did. */
  readonly vouchedBy?: ReplicaId | undefined;
  /** Under this session and sequence it takes effect once, as a whole, however often it is sent. */
  readonly once?: OnceMark | undefined;
  /** Monotone deadline of this node's clock; a write not proposed by then never will be. */
  readonly deadlineMs: number;
  /** Of a read that a follower of this node may answer: its state is not older than this. */
  readonly maxStalenessMs?: number | undefined;
  /** Results are to say where in the log their commands are (DEBUG WITNESS). */
  readonly witness?: boolean | undefined;
  /** Of reads that another node sent here: they run once it takes what it is answered. */
  readonly room?: Room | undefined;
  /** Of reads: once it has gone nobody waits for them. */
  readonly asker?: Gone | undefined;
}

/** So that a field which is new is not forgotten. */
type WholeBatch = { readonly [Field in keyof Required<CommandBatch>]: CommandBatch[Field] };

type BatchChanges = Partial<
  Pick<
    CommandBatch,
    | 'lines'
    | 'prepared'
    | 'term'
    | 'vouchedBy'
    | 'once'
    | 'deadlineMs'
    | 'witness'
    | 'room'
    | 'asker'
  >
>;

/** `batch` with other fields: a literal without a spread, so that all batches have one shape. */
export function changedBatch(batch: CommandBatch, changes: BatchChanges): WholeBatch {
  const { namespace, partition, group, kind, protocol, maxStalenessMs } = batch;
  const { lines = batch.lines, prepared = batch.prepared } = changes;
  const { term = batch.term, once = batch.once, deadlineMs = batch.deadlineMs } = changes;
  const { vouchedBy = batch.vouchedBy, room = batch.room, witness = batch.witness } = changes;
  const asker = 'asker' in changes ? changes.asker : batch.asker;
  return {
    namespace,
    partition,
    group,
    kind,
    lines,
    prepared,
    protocol,
    term,
    vouchedBy,
    once,
    deadlineMs,
    maxStalenessMs,
    witness,
    room,
    asker,
  };
}

/** An entry of a group's log: no other ever has this term and this index. */
export interface EntryPlace {
  readonly term: Term;
  readonly index: LogIndex;
}

/** Of a line whose outcome is not known: its entry, and which command of it. */
export interface LinePlace extends EntryPlace {
  readonly at: number;
}

/** `failed` holds the code: its outcome says whether the line may be sent again. */
export type LineResult =
  | {
      readonly ok: true;
      readonly reply: Reply;
      /** Where the batch asked for it and it is known. */
      readonly witness?: Witness;
    }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      /** Where it was proposed: others may know what became of it. */
      readonly place?: LinePlace;
    };

/** What a replica knows of an entry. */
export type EntryFate =
  /** Nothing yet. */
  | { readonly kind: 'open' }
  /** Another entry has its place: it never takes effect. */
  | { readonly kind: 'never' }
  /** It took effect; `replies` of its commands, undefined: they are not here. */
  | { readonly kind: 'done'; readonly replies: readonly Reply[] | undefined }
  /** That was too long ago. */
  | { readonly kind: 'forgotten' };

/**
 * One result per line, in order. All lines of a write batch are taken on together or none is
 * (then every result is `not-proposed`). Once taken on, results are replies, then possibly
 * `unknown`s, then possibly `not-proposed`s: never a reply after a failure.
 */
export interface LocalPartition {
  /** This replica's. */
  readonly id: ReplicaId;
  /** It serves nothing any more, and its term is not kept. */
  readonly stopped: boolean;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly isLeader: boolean;
  readonly term: Term;
  execute(batch: CommandBatch, signal?: AbortSignal): Promise<readonly LineResult[]>;
  /** Settles when the client is served, or withdrawn; `gone`: nobody listens any more. */
  wait(request: WaitRequest, gone?: AbortSignal): Promise<WaitOutcome>;
  /** Which keys have changed, when some have; `gone`: nobody listens any more. */
  changes(request: ChangesRequest, gone?: AbortSignal): Promise<ChangesAnswer>;
  /** Replies to these ids have arrived. */
  confirmServed(ids: readonly Buffer[]): void;
  /** What has become of an entry that was proposed to its group, whoever leads now. */
  fateOf(entry: EntryPlace): EntryFate;
}
