/**
 * Gives each replica of a node its world (`replica-world.ts`): what it shares with the node's other
 * replicas, and the way to the members of its own group.
 */
import { must } from '../../../common/assert.ts';
import type { GroupId, Namespace, ReplicaId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import { RankPool } from '../../encoding/ranks/rank-trees.ts';
import type { Transport } from '../../transport/transport.ts';
import { KeyEventGate } from '../applying/key-event-gate.ts';
import type { Departures } from '../leading/departures.ts';
import { wantedOf } from '../members/convergence.ts';
import type { MemberNodes } from '../members/member-nodes.ts';
import { Cohorts } from '../proposing/cohort.ts';
import type { Replica } from '../replica/replica.ts';
import type { ReplicaWorld, RoleNews } from '../replica/replica-world.ts';
import { Pace } from '../turns/pace.ts';
import { CommitNews } from './commit-news.ts';
import { Courier } from './courier.ts';
import type { HostOptions } from './host-options.ts';
import { LateAppends } from './late-appends.ts';
import type { PartitionMeters } from './meters.ts';
import { Places } from './places.ts';
import { PromptNodes } from './prompt-nodes.ts';

export interface WorldsGround {
  readonly meters: PartitionMeters;
  readonly members: MemberNodes;
  readonly departures: Departures;
  after(delayMs: number, run: () => void): void;
  requestTurn(replica: Replica): void;
  underLease(namespace: Namespace): boolean;
  onFault(record: PartitionRecord, id: ReplicaId, error: unknown): void;
}

export class ReplicaWorlds {
  /** When writes leave this node. */
  readonly cohorts: Cohorts;
  readonly #options: HostOptions;
  readonly #ground: WorldsGround;
  /** Groups whose membership this node's leaders are changing, and those they hand over. */
  readonly #changing = new Places(limits.membershipChangesPerNodeMax);
  readonly #transfers = new Places(limits.leaderTransfersPerNodeMax);
  readonly #prompt: PromptNodes;
  readonly #pace: Pace;
  readonly #ranks = new RankPool();
  readonly #changesRoom = { bytes: 0 };
  readonly #lateAppends: LateAppends;
  #courier: Courier | undefined;
  #news: CommitNews | undefined;

  constructor(options: HostOptions, ground: WorldsGround) {
    this.#options = options;
    this.#ground = ground;
    this.cohorts = new Cohorts(options.clock);
    this.#prompt = new PromptNodes(ground.members);
    this.#pace = new Pace(options.clock);
    this.#lateAppends = new LateAppends(ground.after);
  }

  /** Replicas are given their worlds from now on: messages to their peers go through `transport`. */
  start(transport: Transport): void {
    const { members, after } = this.#ground;
    const courier = new Courier(members, transport);
    this.#courier = courier;
    this.#news = new CommitNews({
      after,
      send: (group, message) => courier.send(group, message),
    });
  }

  /** The world of the replica `id` of a group, which is there once this is first used. */
  worldOf(record: PartitionRecord, id: ReplicaId, replica: () => Replica): ReplicaWorld {
    const { clock, random, log, engines, notes, settings } = this.#options;
    const { members, meters, underLease, requestTurn, onFault } = this.#ground;
    const { namespace, partition, group } = record;
    const courier = must(this.#courier, 'replicas are opened after the start');
    const news = must(this.#news, 'replicas are opened after the start');
    return {
      clock,
      random,
      log,
      engines,
      settings,
      meters,
      pace: this.#pace,
      cohort: this.cohorts.join(() => requestTurn(replica())),
      ranks: this.#ranks,
      changesRoom: this.#changesRoom,
      logger: this.#options.logger.child({ namespace, partition, replica: id }),
      send: (message) => news.send(group, message),
      isReachable: (member) => courier.isReachable(group, member),
      snapshotProgress: ({ to }, snapshot) => courier.askProgress(group, to, snapshot),
      streamSnapshot: (message, header, chunks) => courier.stream(group, message, header, chunks),
      requestTurn: () => requestTurn(replica()),
      requestLateAppends: () => this.#lateAppends.request(replica()),
      onRole: (news) => this.#onRole(record, news),
      keyEvents: new KeyEventGate(this.#options.keyEvents, namespace, replica),
      onFault: (error) => onFault(record, id, error),
      wanted: () => wantedOf(members.record(group) ?? record),
      hasOlderNodes: () => members.builds.someAreOlder,
      olderNode: (version, ids) => members.olderNode(group, version, ids),
      underLease: () => underLease(namespace) && notes.mayPromise(id),
      beginChange: () => this.#changing.take(group),
      endChange: () => this.#changing.give(group),
      mayLead: (member) => this.#mayLead(courier, group, member),
      beginTransfer: () => this.#transfers.take(group),
      endTransfer: () => this.#transfers.give(group),
      judgeRace: (...race) => this.#prompt.judge(group, ...race),
      wallMs: (member) => courier.wallMs(group, member),
    };
  }

  /** The replica that ran for the group stopped, maybe in the midst of work that has places. */
  release(group: GroupId): void {
    this.#changing.give(group);
    this.#transfers.give(group);
  }

  #mayLead(courier: Courier, group: GroupId, member: ReplicaId): boolean {
    const { members, departures } = this.#ground;
    const node = members.nodeOf(group, member);
    return node !== undefined && !departures.isLeaving(node) && courier.isReachable(group, member);
  }

  #onRole(birth: PartitionRecord, { leader, ...news }: RoleNews): void {
    const { members } = this.#ground;
    const record = members.record(birth.group) ?? birth;
    const node = leader === 0 ? undefined : members.nodeOf(birth.group, leader);
    this.#options.onLeader({ ...news, record, node, replica: leader });
  }
}
