/**
 * Writes that this node's own leader proposed and whose outcome its replica cannot tell any more: it
 * failed by its disk, was sent a snapshot in the place of the log, or was cut off for long. They carry
 * no session, which would cost every write; the others are asked what became of the entry at that
 * index and term (`partition/applying/recent-entries.ts`), until one of them knows. So the client gets what its
 * write answered, or the write is proposed again, because it never took effect.
 */
import { errorTable } from '../../common/errors.ts';
import type { GroupId, LogIndex, Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { CommandBatch, EntryFate, LinePlace, LineResult } from '../partition/entries/batch.ts';
import { type FateQuestion, replyOf } from '../partition/entries/fate-codec.ts';
import { witnessedWrite } from '../partition/entries/witnessed.ts';
import { LeaderPauses, type PauseGround } from './leader-pauses.ts';

export interface EntriesAsked extends PauseGround {
  /**
   * Nodes with a replica, this one as well; none: it was rebuilt from what was left, and nobody knows
   * what that was; undefined: it is gone, with all it held.
   */
  members(namespace: Namespace, partition: PartitionId, group: GroupId): NodeId[] | undefined;
  /** Rejects when it cannot be asked. */
  ask(node: NodeId, question: FateQuestion, timeoutMs: number): Promise<EntryFate>;
}

/** `gone`: with its group. `unknown`: nobody can tell, or could in time. */
type Found = EntryFate | { readonly kind: 'gone' | 'unknown' };

const RETRY_MIN_MS = 5;
const RETRY_MAX_MS = 500;
const ANSWER_MS = 2_000;
/** It took effect: so long somebody is looked for who has its replies as well. */
const REPLIES_MS = 5_000;

export class LostEntries {
  readonly #asked: EntriesAsked;
  /** Those that are being asked for, by group, term and index: many lanes share an entry. */
  readonly #finding = new Map<string, Promise<Found>>();
  readonly #pauses: LeaderPauses;
  #count = 0;
  #closed = false;

  constructor(asked: EntriesAsked) {
    this.#asked = asked;
    this.#pauses = new LeaderPauses(asked);
  }

  /** Entries that were asked for. */
  get count(): number {
    return this.#count;
  }

  /** The results of a batch, those that were not known replaced by what became of their entries. */
  async find(batch: CommandBatch, results: readonly LineResult[]): Promise<readonly LineResult[]> {
    const found: LineResult[] = [];
    /** By index of their entries. */
    const fates = new Map<LogIndex, Found>();
    for (const result of results) {
      const isUnknown = !result.ok && errorTable[result.code].outcome === 'unknown';
      const place = isUnknown ? result.place : undefined;
      if (place === undefined || batch.group === undefined) {
        found.push(result);
        continue;
      }
      const fate = fates.get(place.index) ?? (await this.#fateOf(batch, batch.group, place));
      fates.set(place.index, fate);
      const told = resultOf(fate, place, result);
      found.push(batch.witness ? witnessedWrite(told, place) : told);
    }
    return found;
  }

  /** Nothing is asked for again. */
  close(): void {
    this.#closed = true;
    this.#pauses.end();
  }

  #fateOf(
    { namespace, partition, deadlineMs }: CommandBatch,
    group: GroupId,
    { term, index }: LinePlace,
  ): Promise<Found> {
    const name = `${group} ${term} ${index}`;
    let finding = this.#finding.get(name);
    if (finding === undefined) {
      this.#count++;
      // however long this replica was waited for before it could tell no more
      const untilMs = deadlineMs + limits.outcomeWaitMs;
      finding = this.#find({ namespace, partition, group, term, index }, untilMs);
      this.#finding.set(name, finding);
      void finding.finally(() => this.#finding.delete(name));
    }
    return finding;
  }

  /** Asks at least once. */
  async #find(question: FateQuestion, untilMs: number): Promise<Found> {
    const { clock, members } = this.#asked;
    /** Since when it is known that it took effect. */
    let doneMs: number | undefined;
    for (let pauseMs = RETRY_MIN_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
      const nodes = members(question.namespace, question.partition, question.group);
      if (nodes === undefined) return { kind: 'gone' };
      const fates = await this.#askAll(nodes, question);
      const decided = fates.find(isDecided);
      if (decided !== undefined) return decided;
      const nowMs = clock.monotonicMs();
      if (fates.some((fate) => fate?.kind === 'done')) doneMs ??= nowMs;
      const mayLearn = fates.some((fate) => fate === undefined || fate.kind === 'open');
      const isOver = this.#closed || nowMs >= untilMs || !mayLearn;
      if (doneMs !== undefined && (isOver || nowMs >= doneMs + REPLIES_MS)) {
        return { kind: 'done', replies: undefined };
      }
      if (isOver) return { kind: 'unknown' };
      await this.#pauses.pause(pauseMs, question.group);
    }
  }

  /** Resolves as soon as one of them decides it; undefined: that node cannot be asked now. */
  #askAll(nodes: readonly NodeId[], question: FateQuestion): Promise<(EntryFate | undefined)[]> {
    return new Promise((resolve) => {
      const fates: (EntryFate | undefined)[] = nodes.map(() => undefined);
      let left = nodes.length;
      const told = (at: number, fate: EntryFate | undefined) => {
        fates[at] = fate;
        left--;
        if (left === 0 || isDecided(fate)) resolve(fates);
      };
      if (left === 0) resolve(fates);
      nodes.forEach((node, at) => {
        this.#asked.ask(node, question, ANSWER_MS).then(
          (fate) => told(at, fate),
          () => told(at, undefined),
        );
      });
    });
  }
}

/** Nobody can know more. */
function isDecided(fate: EntryFate | undefined): fate is EntryFate {
  return fate?.kind === 'never' || (fate?.kind === 'done' && fate.replies !== undefined);
}

function resultOf(fate: Found, { at }: LinePlace, unknown: LineResult): LineResult {
  switch (fate.kind) {
    case 'done':
      return { ok: true, reply: replyOf(fate, at) };
    case 'never':
      return { ok: false, code: 'TERM_CHANGED', message: 'its entry was never committed' };
    case 'gone':
      return { ok: false, code: 'NO_PARTITION', message: 'the partition is gone' };
    default:
      return unknown;
  }
}
