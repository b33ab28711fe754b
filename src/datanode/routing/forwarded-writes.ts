/**
 * Writes for partitions that other nodes lead, each batch under a session of this node's and a
 * sequence (decision 12): when its outcome is not known, because the connection to the leader broke
 * or another leads, it is asked for again under the same sequence until it is known, or its group is
 * gone. So a client of a gateway sees no unknown outcome when a leader dies. A session belongs to one
 * group and one life of the node, and is opened through the group's log before its first batch.
 *
 * Who sends under a session of its own (KV.ONCE) hears of an unknown outcome within the deadline, and
 * can ask again, maybe elsewhere.
 */
import { type ErrorCode, errorTable } from '../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { type CommandBatch, changedBatch, type LineResult } from '../partition/entries/batch.ts';
import { failAll, mayAskAgain } from '../partition/entries/failed-batch.ts';
import { LeaderPauses, type PauseGround } from './leader-pauses.ts';
import type { LeaderHint } from './table.ts';

export interface WriteGround extends PauseGround {
  /** Of this life of the node: no other ever has it. */
  readonly bootId: string;
  leader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined;
  /** The table has it as the partition's. */
  isGroupOf(namespace: Namespace, partition: PartitionId, group: GroupId): boolean;
  /** As of EntriesAsked. */
  members(namespace: Namespace, partition: PartitionId, group: GroupId): NodeId[] | undefined;
  /** One try; `signal` gives it up. */
  attempt(batch: CommandBatch, signal: AbortSignal): Promise<readonly LineResult[]>;
}

/** Of this node with one group. */
interface GroupSession {
  readonly id: Buffer;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  /** Set once it is open, or while it is being opened: what failed, if anything. */
  opening: Promise<readonly LineResult[] | undefined> | undefined;
  nextSequence: number;
  /** Ascending. */
  readonly unanswered: Set<number>;
}

const RETRY_MIN_MS = 5;
const RETRY_MAX_MS = 100;
/** So many sessions there are before those of groups that are gone are looked for. */
const SWEPT_MIN = 64;
const OPEN = [Buffer.from('KV.SESSION'), Buffer.from('OPEN')];
/** A place in the command that says which group; the batch does. */
const ANY_KEY = Buffer.from('-');

export class ForwardedWrites {
  readonly #ground: WriteGround;
  readonly #sessions = new Map<GroupId, GroupSession>();
  readonly #pauses: LeaderPauses;
  #sweepAt = SWEPT_MIN;
  #opened = 0;
  #repeated = 0;
  #closed = false;

  constructor(ground: WriteGround) {
    this.#ground = ground;
    this.#pauses = new LeaderPauses(ground);
  }

  /** Batches that were asked for again because their outcome was not known, tries counted each. */
  get repeated(): number {
    return this.#repeated;
  }

  async execute(batch: CommandBatch, group: GroupId): Promise<readonly LineResult[]> {
    for (;;) {
      const session = this.#sessionOf(group, batch);
      session.opening ??= this.#open(session, batch, group);
      const failed = await session.opening;
      if (failed !== undefined) return notProposed(batch, failed);
      const results = await this.#executeOnce(session, batch, group);
      if (results !== 'session-lost') return results;
      // it has not been carried out, and nothing more is sent under that session
      if (this.#sessions.get(group) === session) this.#sessions.delete(group);
    }
  }

  /** Groups that this node has a session with. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Nothing is asked for again. */
  close(): void {
    this.#closed = true;
    this.#pauses.end();
  }

  #sessionOf(group: GroupId, { namespace, partition }: CommandBatch): GroupSession {
    let session = this.#sessions.get(group);
    if (session === undefined) {
      if (this.#sessions.size >= this.#sweepAt) this.#sweep();
      // under the id of one that was lost, what was sent under that would be taken for new
      const id = Buffer.from(`gateway-${this.#ground.bootId}-${++this.#opened}`);
      const unanswered = new Set<number>();
      session = { id, namespace, partition, opening: undefined, nextSequence: 1, unanswered };
      this.#sessions.set(group, session);
    }
    return session;
  }

  /**
   * Forgets those with groups that were deleted or given up, but for what is under way. Half of them at
   * least are new at the next time, so that a session costs a look or two.
   */
  #sweep(): void {
    for (const [group, { namespace, partition, unanswered }] of this.#sessions) {
      const isThere = this.#ground.isGroupOf(namespace, partition, group);
      if (!isThere && unanswered.size === 0) this.#sessions.delete(group);
    }
    this.#sweepAt = Math.max(SWEPT_MIN, 2 * this.#sessions.size);
  }

  /** Undefined when it is open; otherwise it may be tried again. */
  async #open(
    session: GroupSession,
    batch: CommandBatch,
    group: GroupId,
  ): Promise<readonly LineResult[] | undefined> {
    const lines = [[...OPEN, session.id, ANY_KEY]];
    const results = await this.#attempt(
      changedBatch(batch, { lines, prepared: [undefined] }),
      group,
    );
    const [result] = results;
    if (result?.ok && !isError(result)) return undefined;
    session.opening = undefined;
    return results;
  }

  async #executeOnce(
    session: GroupSession,
    batch: CommandBatch,
    group: GroupId,
  ): Promise<readonly LineResult[] | 'session-lost'> {
    const { id, unanswered } = session;
    const sequence = session.nextSequence++;
    unanswered.add(sequence);
    try {
      return await this.#ask(batch, group, () => {
        const [low = sequence] = unanswered;
        return { id, sequence, low };
      });
    } finally {
      unanswered.delete(sequence);
    }
  }

  async #ask(
    batch: CommandBatch,
    group: GroupId,
    mark: () => NonNullable<CommandBatch['once']>,
  ): Promise<readonly LineResult[] | 'session-lost'> {
    const { clock } = this.#ground;
    let { deadlineMs } = batch;
    let untilMs = deadlineMs;
    /** What it was when it was first not known. */
    let unknown: readonly LineResult[] | undefined;
    let pauseMs = RETRY_MIN_MS;
    for (;;) {
      const results = await this.#attempt(changedBatch(batch, { once: mark(), deadlineMs }), group);
      const code = failureOf(results);
      if (code === undefined) return results;
      if (code === 'SESSION_LOST') return unknown ?? 'session-lost';
      const { outcome } = errorTable[code];
      if (unknown === undefined) {
        if (outcome === 'not-proposed' || outcome === 'refused') return results;
        unknown = results;
        if (!mayAskAgain(batch)) untilMs = clock.monotonicMs() + limits.outcomeWaitMs;
      }
      if (this.#closed || clock.monotonicMs() >= untilMs) return unknown;
      const members = this.#ground.members(batch.namespace, batch.partition, group);
      if (members === undefined) return gone(batch);
      if (members.length === 0) return unknown;
      await this.#pauses.pause(pauseMs, group);
      deadlineMs = Math.min(untilMs, clock.monotonicMs() + limits.holdMs);
      pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS);
      this.#repeated++;
    }
  }

  /** Given up when another leader becomes known: that one can tell. */
  async #attempt(batch: CommandBatch, group: GroupId): Promise<readonly LineResult[]> {
    const { leader, onLeader, attempt } = this.#ground;
    const asked = leader(batch.namespace, batch.partition);
    const gone = new AbortController();
    const unlisten = onLeader(group, () => {
      const now = leader(batch.namespace, batch.partition);
      if (now !== undefined && (now.node !== asked?.node || now.term !== asked.term)) gone.abort();
    });
    try {
      return await attempt(batch, gone.signal);
    } finally {
      unlisten();
    }
  }
}

/** All commands of a batch that takes effect once share their fate. */
function failureOf(results: readonly LineResult[]): ErrorCode | undefined {
  const failed = results.find((result) => !result.ok);
  return failed?.ok === false ? failed.code : undefined;
}

const MINUS = 0x2d;

function isError({ reply }: Extract<LineResult, { ok: true }>): boolean {
  return reply.kind === 'error' || (reply.kind === 'encoded' && reply.bytes[0] === MINUS);
}

/** The session could not be opened: nothing of the batch was sent. */
function notProposed(batch: CommandBatch, [failed]: readonly LineResult[]): LineResult[] {
  const text = failed?.ok === false ? failed.message : 'the partition has too many sessions';
  const code = failed?.ok === false && isNotProposed(failed.code) ? failed.code : 'BUSY';
  return failAll(batch, code, `no session: ${text}`);
}

/** With all it held: whether this took effect there is nothing any more that could tell. */
function gone(batch: CommandBatch): LineResult[] {
  return failAll(batch, 'NO_PARTITION', 'the partition is gone');
}

function isNotProposed(code: ErrorCode): boolean {
  return errorTable[code].outcome === 'not-proposed';
}
