/**
 * Brings a batch to the replica that leads: in this process, or over the node transport in the
 * leader's term. One attempt, but for writes whose outcome is not known (`forwarded-writes.ts`, and
 * `lost-entries.ts` for those of this node's own leader);
 * holding and trying again is the lane's business, because only it knows what must not be overtaken.
 */
import type { Clock } from '../../common/clock.ts';
import { codeOf, type ErrorCode, messageOf } from '../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId, ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Room } from '../../common/room.ts';
import type { PartitionRecord } from '../../meta/schema.ts';
import {
  type CommandBatch,
  changedBatch,
  type EntryFate,
  type LineResult,
  type LocalPartition,
} from '../partition/entries/batch.ts';
import { failAll, mayAskAgain } from '../partition/entries/failed-batch.ts';
import type { FateQuestion } from '../partition/entries/fate-codec.ts';
import { executeOfPeer } from '../partition/entries/newer-commands.ts';
import type { Cohorts } from '../partition/proposing/cohort.ts';
import type { Turns } from '../partition/turns/turns.ts';
import type { Asker, Transport } from '../transport/transport.ts';
import { isChangesQuestion } from './changes-codec.ts';
import { ChangesRouter } from './changes-router.ts';
import { ForwardedWrites } from './forwarded-writes.ts';
import { JoinedBatches } from './joined-batches.ts';
import type { LeaderQuestion } from './leader-question.ts';
import { LeaderSearch, mayLeadElsewhere } from './leader-search.ts';
import { LostEntries } from './lost-entries.ts';
import { PeerQuestions } from './peer-questions.ts';
import { decodeBatch, decodeResults, encodeBatch, encodeResults } from './request-codec.ts';
import type { MutableRouteTable } from './route-table.ts';
import type { LeaderHint } from './table.ts';
import { isWaitMessage, type WaitPlace } from './wait-codec.ts';
import { WaitRouter } from './wait-router.ts';

export interface RouterOptions {
  readonly node: NodeId;
  /** Of this life of the node: no other ever has it. */
  readonly bootId: string;
  readonly clock: Clock;
  readonly routes: MutableRouteTable;
  /** Of the group that the table names. */
  local(namespace: Namespace, partition: PartitionId): LocalPartition | undefined;
  /** This node's replica of the group takes part in nothing yet (`partition/members/return-hold.ts`). */
  holds(group: GroupId): boolean;
  /** Why this node's replica of the group stopped after a fault; undefined: it did not. */
  faultOf(group: GroupId): string | undefined;
  transport(): Pick<Transport, 'request' | 'isReachable'>;
  /** Those of the node: what is sent to other nodes leaves with the entries of this one's leaders. */
  readonly turns: Pick<Turns, 'request'>;
  readonly cohorts: Pick<Cohorts, 'join'>;
}

/** An answer may come this long after the deadline of what was asked. */
const ANSWER_GRACE_MS = 2_000;
const NO_REPLICA = 'this node has no replica of the partition';

export class Router {
  /** Of clients that wait for an element. */
  readonly waits: WaitRouter;
  /** Of nodes whose clients cache what they read. */
  readonly changes: ChangesRouter;
  readonly #options: RouterOptions;
  readonly #writes: ForwardedWrites;
  readonly #joined: JoinedBatches;
  readonly #lost: LostEntries;
  readonly #search: LeaderSearch;
  readonly #questions: PeerQuestions;
  /** Until when nodes of an older build are told of no voucher: they do not read such a request. */
  readonly #plainUntilMs = new Map<NodeId, number>();
  #forwarded = 0;
  #served = 0;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.waits = new WaitRouter(this, options);
    this.changes = new ChangesRouter(this, options);
    this.#questions = new PeerQuestions({
      request: (...asked) => options.transport().request(...asked),
      fateOf: (question) => this.#fateOf(question),
      leaderFor: (question) => this.#leaderFor(question),
    });
    this.#writes = new ForwardedWrites({
      clock: options.clock,
      bootId: options.bootId,
      leader: (namespace, partition) => this.leader(namespace, partition),
      isGroupOf: (...place) => this.#isGroupOf(...place),
      members: (...place) => this.#members(...place),
      onLeader: (group, listener) => options.routes.onLeader(group, listener),
      attempt: (batch, signal) => this.#attempt(batch, signal),
    });
    this.#joined = new JoinedBatches(options, (batch, gone) => this.#toLeader(batch, gone));
    this.#lost = new LostEntries({
      clock: options.clock,
      members: (...place) => this.#members(...place),
      ask: (...asked) => this.#askFate(...asked),
      onLeader: (group, listener) => options.routes.onLeader(group, listener),
    });
    this.#search = new LeaderSearch({
      ...{ node: options.node, clock: options.clock, routes: options.routes },
      isLocalLeader: (...place) => this.isLocalLeader(...place),
      isReachable: (node) => options.transport().isReachable(node),
      ask: (...asked) => this.#questions.leader(...asked),
    });
  }

  get routes(): MutableRouteTable {
    return this.#options.routes;
  }

  /** Forwarded batches that were asked for again because their outcome was not known. */
  get repeatedBatches(): number {
    return this.#writes.repeated;
  }

  /** Entries of this node's own leaders that others were asked about. */
  get lostEntries(): number {
    return this.#lost.count;
  }

  /** Commands sent to other nodes, tries counted each. */
  get forwardedCommands(): number {
    return this.#forwarded;
  }

  /** Commands that other nodes sent here. */
  get servedCommands(): number {
    return this.#served;
  }

  /** Where a batch for this partition would go now. */
  leader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    const { node, routes } = this.#options;
    const local = this.#options.local(namespace, partition);
    if (local?.isLeader) return { node, term: local.term };
    const hint = routes.leader(namespace, partition) ?? this.#lastReachable(namespace, partition);
    return hint?.node === node ? undefined : hint;
  }

  /**
   * A hint is withdrawn when one request fails, and a leader that stays has no news to tell: while
   * its node can be reached it is asked again. Not one that has said that it leads no more.
   */
  #lastReachable(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    const { routes } = this.#options;
    if (routes.hasResigned(namespace, partition)) return undefined;
    const last = routes.lastLeader(namespace, partition);
    if (last === undefined || !this.#options.transport().isReachable(last.node)) return undefined;
    return last;
  }

  /** Asks the partition's members who leads, unless that is known, until `untilMs` at the latest. */
  seekLeader(
    { namespace, partition }: WaitPlace,
    untilMs = this.#options.clock.monotonicMs() + limits.holdMs,
  ): void {
    this.#search.seek(namespace, partition, untilMs);
  }

  /** The link to `node` ended: what it led may soon have other leaders. */
  seekLeadersOf(node: NodeId): void {
    const { routes } = this.#options;
    for (const name of routes.namespaces()) {
      for (const record of routes.partitions(name)!) {
        if (routes.lastLeader(name, record.partition)?.node === node) this.seekLeader(record);
      }
    }
  }

  /** Partitions of which no leader is known here. */
  leaderless(): readonly PartitionRecord[] {
    const { routes } = this.#options;
    return routes
      .namespaces()
      .flatMap((namespace) => routes.partitions(namespace)!)
      .filter(({ namespace, partition }) => !this.leader(namespace, partition));
  }

  isLocalLeader(namespace: Namespace, partition: PartitionId): boolean {
    return this.#options.local(namespace, partition)?.isLeader === true;
  }

  /** This node has a replica of it, and does not lead it. */
  isLocalFollower(namespace: Namespace, partition: PartitionId): boolean {
    return this.#options.local(namespace, partition)?.isLeader === false;
  }

  /** One result per line; see LocalPartition.execute for what they may be. */
  execute(batch: CommandBatch): Promise<readonly LineResult[]> {
    const local = this.#options.local(batch.namespace, batch.partition);
    // one that is held asks no leader how old its state is, nor is it ticked to give that up
    const mayFollow = batch.maxStalenessMs !== undefined && !this.#isHeld(batch);
    if (local?.isLeader || (local && mayFollow)) {
      const results = local.execute(batch);
      return batch.kind === 'read' ? results : this.#orFound(batch, results);
    }
    return this.#joined.send(batch);
  }

  /** Of another node, unless this one has just become it. */
  #toLeader(batch: CommandBatch, gone?: AbortSignal): Promise<readonly LineResult[]> {
    if (batch.kind === 'read' || !batch.group) return this.#attempt(batch, gone);
    return this.#writes.execute(batch, batch.group);
  }

  /** Who can ask again under a session of its own does so. */
  async #orFound(
    batch: CommandBatch,
    settling: Promise<readonly LineResult[]>,
  ): Promise<readonly LineResult[]> {
    const results = await settling;
    // nothing is answered behind a failure
    if (results.at(-1)?.ok !== false || mayAskAgain(batch)) return results;
    return this.#lost.find(batch, results);
  }

  /** The node stops: what has no answer now gets none. */
  close(): void {
    this.#joined.close();
    this.#lost.close();
    this.#writes.close();
    this.#search.close();
  }

  /** One try, wherever the leader is now. */
  #attempt(batch: CommandBatch, signal?: AbortSignal): Promise<readonly LineResult[]> {
    const local = this.#options.local(batch.namespace, batch.partition);
    if (local?.isLeader && this.isOfTable(batch)) return local.execute(batch);
    const hint = this.leader(batch.namespace, batch.partition);
    if (hint === undefined) {
      this.seekLeader(batch, batch.deadlineMs);
      return Promise.resolve(failAll(batch, 'NO_LEADER', this.#whyNobody(batch)));
    }
    return this.#forward(batch, hint, signal);
  }

  /** Also where a leader lives that only this node is cut off from: others may serve. */
  #whyNobody({ namespace, partition }: WaitPlace): string {
    const { node, routes } = this.#options;
    const last = routes.hasResigned(namespace, partition)
      ? undefined
      : routes.lastLeader(namespace, partition);
    const isOther = last !== undefined && last.node !== node;
    const but = isOther ? ` but ${last.node}, which ${node} cannot reach` : '';
    const stopped = this.#stoppedHere({ namespace, partition });
    return `no leader known${but}${stopped === undefined ? '' : `, and ${stopped}`}`;
  }

  /** The other end: a peer's batch for a replica of this node. */
  async serve(body: Buffer, asker: Asker, room?: Room): Promise<Buffer> {
    if (isWaitMessage(body)) return this.waits.serve(body, asker);
    if (isChangesQuestion(body)) return this.changes.serve(body, asker);
    const answer = this.#questions.answer(body);
    if (answer !== undefined) return answer;
    const batch = decodeBatch(body, this.#options.clock.monotonicMs());
    this.#served += batch.lines.length;
    const local = this.isOfTable(batch) && this.#options.local(batch.namespace, batch.partition);
    const isRead = batch.kind === 'read';
    const results = local
      ? await executeOfPeer(local, isRead ? changedBatch(batch, { room, asker }) : batch)
      : failAll(batch, 'NO_PARTITION', this.#stoppedHere(batch) ?? NO_REPLICA);
    return encodeResults(results, batch.protocol);
  }

  /** What became of this node's replica, if it stopped after a fault. */
  #stoppedHere({ namespace, partition }: WaitPlace): string | undefined {
    const { node, routes, faultOf } = this.#options;
    const group = routes.groupOf(namespace, partition);
    const fault = group === undefined ? undefined : faultOf(group);
    return fault && `the replica on ${node} stopped after a fault: ${fault}`;
  }

  #members(namespace: Namespace, partition: PartitionId, group: GroupId): NodeId[] | undefined {
    const record = this.#options.routes.partitions(namespace)?.[partition];
    if (record?.group === group) return record.replicas.map(({ node }) => node);
    // what the survivor of a lost quorum holds is there still, and nobody can tell what that is
    return record?.rebuilt?.formerGroups.includes(group) ? [] : undefined;
  }

  async #askFate(node: NodeId, question: FateQuestion, timeoutMs: number): Promise<EntryFate> {
    if (node === this.#options.node) return this.#fateOf(question);
    return this.#questions.fate(node, question, timeoutMs);
  }

  #leaderFor(question: LeaderQuestion): LeaderHint | undefined {
    if (!this.isOfTable(question)) return undefined;
    return this.leader(question.namespace, question.partition);
  }

  /** A replica that is not here may be on its way, or be tried again. */
  #fateOf(question: FateQuestion): EntryFate {
    const { namespace, partition } = question;
    const local = this.isOfTable(question) && this.#options.local(namespace, partition);
    return local ? local.fateOf(question) : { kind: 'open' };
  }

  /** A peer may not have heard yet that the namespace was deleted, or made anew. */
  isOfTable({ namespace, partition, group }: WaitPlace): boolean {
    return group === undefined || this.#isGroupOf(namespace, partition, group);
  }

  #isGroupOf(namespace: Namespace, partition: PartitionId, group: GroupId): boolean {
    return this.#options.routes.groupOf(namespace, partition) === group;
  }

  async #forward(
    batch: CommandBatch,
    hint: LeaderHint,
    signal?: AbortSignal,
  ): Promise<readonly LineResult[]> {
    this.#forwarded += batch.lines.length;
    const leftMs = batch.deadlineMs - this.#options.clock.monotonicMs();
    const asked = { term: hint.term, vouchedBy: this.#voucherFor(batch, hint) };
    const body = encodeBatch(changedBatch(batch, asked), leftMs);
    try {
      // the leader gives up in time what only waits; what it works on may take longer
      const timeoutMs = Math.max(0, leftMs) + ANSWER_GRACE_MS + limits.applyWaitMs;
      const answer = await this.#options.transport().request(hint.node, body, timeoutMs, signal);
      const results = decodeResults(answer, batch.lines.length);
      // who answers the first line leads: what is behind was cut, or its outcome is not known
      const first = results[0]!;
      if (!first.ok) this.#withdraw(batch, hint, first.code);
      return results;
    } catch (failure) {
      const code: ErrorCode = codeOf(failure) ?? 'OUTCOME_UNKNOWN';
      // that a client has gone says nothing of the leader
      if (batch.kind === 'read' && signal?.aborted) return failAll(batch, code, messageOf(failure));
      if (code === 'BAD_FRAME' && asked.vouchedBy !== undefined) {
        const { clock } = this.#options;
        this.#plainUntilMs.set(hint.node, clock.monotonicMs() + limits.plainPeerMs);
        return this.#forward(batch, hint, signal);
      }
      this.#withdraw(batch, hint, code);
      return failAll(batch, code, messageOf(failure));
    }
  }

  /**
   * This node's replica, if it has the leader's term: reads need no round then (see RaftNode). To vouch
   * is to acknowledge, which one that is held does not: its group may have been given up.
   */
  #voucherFor(batch: CommandBatch, { node, term }: LeaderHint): ReplicaId | undefined {
    const { clock } = this.#options;
    const { namespace, partition } = batch;
    if (batch.kind !== 'read' || !this.isOfTable(batch)) return undefined;
    if (clock.monotonicMs() < (this.#plainUntilMs.get(node) ?? 0)) return undefined;
    const local = this.#options.local(namespace, partition);
    if (local === undefined || local.stopped || local.term !== term) return undefined;
    return this.#isHeld(batch) ? undefined : local.id;
  }

  /** This node's replica, if it has one, takes part in nothing. */
  #isHeld({ namespace, partition }: WaitPlace): boolean {
    const group = this.#options.routes.groupOf(namespace, partition);
    return group === undefined || this.#options.holds(group);
  }

  /**
   * What answered `code` is not asked again while another leader may be found. Many a refusal says that
   * it leads: then it stays known, and nobody need be asked who does.
   */
  #withdraw(batch: CommandBatch, hint: LeaderHint, code: ErrorCode): void {
    if (!mayLeadElsewhere(code)) return;
    const { routes } = this.#options;
    const record = routes.partitions(batch.namespace)?.[batch.partition];
    if (record === undefined) return;
    routes.withdrawLeader(record.group, hint);
    this.seekLeader(batch, batch.deadlineMs);
  }
}
