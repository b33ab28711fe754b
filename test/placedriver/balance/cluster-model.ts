/**
 * A cluster that only moves replicas: nodes that register and go, and groups that carry out what
 * their wanted record asks for, one step at a time, as `partition/members/membership-plan` does.
 */

import { runAtOnce } from '../../../src/common/slices.ts';
import type {
  LeaderRecord,
  NamespaceRecord,
  NodeRecord,
  NodeStateRecord,
  PartitionRecord,
} from '../../../src/meta/schema.ts';
import { GroupStates, isSettled } from '../../../src/placedriver/balance/group-states.ts';
import { planMoves, type WantedChange } from '../../../src/placedriver/balance/plan-moves.ts';
import { NO_STALLS, StallWatch } from '../../../src/placedriver/balance/stalls.ts';
import type { BalanceView } from '../../../src/placedriver/balance/view.ts';
import { firstTable } from '../../../src/placedriver/placement/rebalance.ts';
import { planRepairs } from '../../../src/placedriver/repair.ts';
import { blinkingNodes } from '../../../src/placedriver/stability/blinking.ts';
import { assess } from '../../../src/placedriver/stability/stability.ts';

export const MOVES_AT_ONCE = 4;
export const WAIT_MS = 600_000;
/** Without progress for this long a move is given up. */
export const STALL_MS = 300_000;
/** From the loss of a node until others should lead in its place. */
export const LEADER_WAIT_MS = WAIT_MS / 10;

export interface ModelNode {
  readonly name: string;
  readonly dc?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly capacity?: number;
}

export interface ModelNamespace {
  readonly name: string;
  readonly partitions: number;
  replicas: number;
  tags?: readonly string[];
}

interface Group {
  voters: number[];
  learners: number[];
  epoch: number;
  term: number;
  leader: number | undefined;
  told: LeaderRecord | undefined;
}

type Known = { readonly record: PartitionRecord };

export class ClusterModel {
  readonly nodes = new Map<string, NodeRecord>();
  readonly states = new Map<string, NodeStateRecord>();
  readonly namespaces: ModelNamespace[] = [];
  readonly records: PartitionRecord[] = [];
  readonly groups: Group[] = [];
  /** Every replica ever made. */
  readonly places = new Map<number, { node: string; incarnation: string }>();
  nowMs = 0;
  stableNodes = 0;
  moves = 0;
  /** How many there were when they were counted last. */
  movesChecked = 0;
  orders = 0;
  /** Moves that were given up. */
  givenUp = 0;
  /** Nodes whose disks are full: no learner there is filled. */
  readonly full = new Set<string>();
  /** Nodes that the last look gave nothing, because they could not be filled. */
  shut: ReadonlySet<string> = new Set();
  readonly #stalls = new StallWatch(STALL_MS);
  #nextReplica = 1;

  join({ name, dc = '', tags = {}, capacity }: ModelNode): void {
    const all = { ...tags, ...(dc !== '' && { dc_info: dc }) };
    const ports = { transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 };
    const room = capacity === undefined ? {} : { capacity };
    const who = { version: 1, node: name, incarnation: `${name}-1`, bootId: 'b', host: name };
    this.nodes.set(name, { ...who, ...ports, tags: all, ...room });
    this.stableNodes = Math.max(this.stableNodes, this.nodes.size);
    const { lostSinceMs: _, ...state } = this.states.get(name) ?? {
      ...{ version: 1, node: name, firstSeenMs: this.nowMs, lostSinceMs: 0 },
    };
    this.states.set(name, state);
  }

  die(name: string): void {
    this.nodes.delete(name);
    this.states.set(name, { ...this.states.get(name)!, lostSinceMs: this.nowMs });
  }

  /** It comes back empty. */
  wipe(name: string): void {
    this.nodes.set(name, { ...this.nodes.get(name)!, incarnation: `${name}-again` });
  }

  /** What the chore of repairs begins in one look; tells how much it wrote. */
  repair(atOnceMax = MOVES_AT_ONCE): number {
    const repairs = planRepairs({ ...this.view(), atOnceMax });
    for (const { partition, lost, node } of repairs) {
      const { record } = partition;
      const replicas = record.replicas.map((one) => (one === lost ? this.#make(node) : one));
      const at = this.records.indexOf(record);
      this.records[at] = { ...record, replicas, epoch: record.epoch + 1 };
    }
    return repairs.length;
  }

  drain(name: string): void {
    const draining = { sinceMs: this.nowMs, replicas: this.held(name) };
    this.states.set(name, { ...this.states.get(name)!, draining });
  }

  undrain(name: string): void {
    const { draining: _, ...state } = this.states.get(name)!;
    this.states.set(name, state);
  }

  create(namespace: ModelNamespace): void {
    this.namespaces.push(namespace);
    const nodes = [...this.nodes.values()].map(({ node, tags, host }) => ({
      ...{ node, dc: tags['dc_info'] ?? '', host },
    }));
    const table = firstTable(nodes, namespace.partitions, namespace.replicas);
    for (const [partition, holders] of table.entries()) {
      const replicas = holders.map((node) => this.#make(node));
      const place = { namespace: namespace.name, partition, group: this.records.length + 1 };
      const slots = { firstSlot: 0, lastSlot: 16_383 };
      const wanted = { birth: replicas, replicas, epoch: 1, fence: 1 };
      this.records.push({ version: 1, ...place, ...slots, ...wanted });
      const voters = replicas.map(({ replica }) => replica);
      const group = { voters, learners: [], epoch: 1, term: 0, leader: undefined, told: undefined };
      this.groups.push(group);
    }
    for (const at of this.records.keys()) this.#elect(at);
  }

  held(name: string): number {
    return this.records.flatMap(({ replicas }) => replicas.filter((r) => r.node === name)).length;
  }

  isUp(replica: number): boolean {
    const place = this.places.get(replica)!;
    return this.nodes.get(place.node)?.incarnation === place.incarnation;
  }

  hasQuorum(at: number): boolean {
    const { voters } = this.groups[at]!;
    return voters.filter((id) => this.isUp(id)).length > voters.length / 2;
  }

  view(): BalanceView<Known> {
    const told = new Map(this.records.map((record, at) => [record, this.groups[at]!.told]));
    const leader = (record: PartitionRecord) => told.get(record);
    const alive = [...this.nodes.values()];
    const states = [...this.states.values()];
    const settled = new Map(
      this.records.map((record) => [record, isSettled(record, leader(record))]),
    );
    return {
      namespaces: this.namespaces.map((namespace): NamespaceRecord => {
        const kind = { version: 1, kind: 'redis', hash: 'slots', expiry: 'consistent' } as const;
        return { ...kind, ...namespace, ready: true };
      }),
      partitions: this.records.map((record) => ({ record })),
      alive,
      damages: [],
      draining: new Set(states.filter(({ draining }) => draining).map(({ node }) => node)),
      stability: assess({
        ...{ alive, states, partitions: this.records, nowMs: this.nowMs, migrateWaitMs: WAIT_MS },
        control: { version: 1, stableNodes: this.stableNodes, balance: { enabled: true } },
        isSettled: (record) => settled.get(record)!,
      }),
      stalls: NO_STALLS,
      blinking: new Set(blinkingNodes(alive, states, this.nowMs, LEADER_WAIT_MS).keys()),
      levelLeaders: true,
      movesAtOnceMax: MOVES_AT_ONCE,
      leader,
    };
  }

  /** One look of the master; tells how much it wrote. */
  look(): number {
    const seen = this.view();
    const stalls = this.#stalls.look(seen, new GroupStates(seen), this.nowMs);
    this.shut = stalls.shut;
    const changes = runAtOnce(planMoves({ ...seen, stalls }));
    for (const change of changes) this.#write(change);
    return changes.length;
  }

  /** One step of every group that `ready` picks. */
  step(ready: (at: number) => boolean = () => true): void {
    for (const at of this.records.keys()) if (ready(at)) this.#converge(at);
  }

  /** Looks and steps until nothing is left to do; false when `rounds` are not enough. */
  settle(rounds: number, check: () => void = () => {}): boolean {
    for (let round = 0; round < rounds; round++) {
      const wrote = this.look();
      check();
      const before = wrote === 0 ? JSON.stringify(this.groups) : '';
      this.step();
      check();
      if (wrote === 0 && JSON.stringify(this.groups) === before) return true;
    }
    return false;
  }

  #isFilled(replica: number): boolean {
    return !this.full.has(this.places.get(replica)!.node);
  }

  #make(node: string) {
    const replica = this.#nextReplica++;
    const place = { node, incarnation: this.nodes.get(node)!.incarnation };
    this.places.set(replica, place);
    return { replica, ...place };
  }

  #write({ partition, replicas, move }: WantedChange<Known>): void {
    const at = this.records.indexOf(partition.record);
    const named = replicas.map((one) => ('replica' in one ? one : this.#make(one.node)));
    if (move?.givesUp) this.givenUp++;
    if (move === undefined) this.orders++;
    else if (move.givesUp) {
      const { voters } = this.groups[at]!;
      for (const { replica } of move.returns ?? []) {
        if (!voters.includes(replica)) throw new Error(`replica ${replica} is gone`);
      }
    } else this.moves++;
    const moved = move && {
      ...(move.from && { from: move.from }),
      ...(move.to && { to: named.at(-1)! }),
      ...{ why: move.why, sinceMs: this.nowMs },
    };
    const { record } = partition;
    const epoch = record.epoch + 1;
    this.records[at] = { ...record, replicas: named, epoch, ...(moved && { move: moved }) };
  }

  /** Learners first, then one exchange; a leader that goes passes its place on. */
  #converge(at: number): void {
    const group = this.groups[at]!;
    if (!this.hasQuorum(at)) return;
    this.#elect(at);
    const record = this.records[at]!;
    const wanted = record.replicas.map(({ replica }) => replica);
    const stray = group.learners.filter((id) => !wanted.includes(id));
    const missing = wanted.filter((id) => !group.voters.includes(id));
    if (stray.length > 0) group.learners = group.learners.filter((id) => wanted.includes(id));
    else if (missing.some((id) => !group.learners.includes(id))) {
      group.learners.push(missing.find((id) => !group.learners.includes(id))!);
    } else if (group.learners.every((id) => this.isUp(id) && this.#isFilled(id))) {
      const up = wanted.filter((id) => this.isUp(id)).length;
      if (up > wanted.length / 2) {
        group.voters = [...wanted];
        group.learners = [];
        group.epoch = record.epoch;
        this.#elect(at);
      }
    }
    this.#tell(at);
  }

  #elect(at: number): void {
    const group = this.groups[at]!;
    const able = group.voters.filter((id) => this.isUp(id));
    const first = this.records[at]!.replicas[0]!.replica;
    const next = able.includes(first) ? first : able[0];
    if (next === undefined || !this.hasQuorum(at)) return;
    if (next !== group.leader) group.term++;
    group.leader = next;
    this.#tell(at);
  }

  #tell(at: number): void {
    const { voters, learners, epoch, term, leader } = this.groups[at]!;
    if (leader === undefined) return;
    const { namespace, partition, group } = this.records[at]!;
    const membership = { epoch, voters: [...voters], learners: [...learners], joint: false };
    const { node } = this.places.get(leader)!;
    const who = { version: 1, namespace, partition, group, node, replica: leader };
    this.groups[at]!.told = { ...who, term, membership };
  }
}
