/** Raft groups as the metadata store sees them: each carries out its wanted record step by step. */
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type PartitionRecord,
} from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { isSettled } from '../../src/placedriver/balance/group-states.ts';

const STEP_MS = 5;

export class Groups {
  readonly #store: MetaStore;
  #paused = false;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  /** A node whose disk is full: no replica that comes there is ever filled. */
  unfillable: string | undefined;
  /** Partitions whose members were changing at once, at most. */
  mostMoving = 0;

  constructor(store: MetaStore) {
    this.#store = store;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  set paused(paused: boolean) {
    this.#paused = paused;
  }

  async records(): Promise<PartitionRecord[]> {
    const { items } = await this.#store.range(keys.partitions);
    return items.map(({ key, value }) => decodeRecord(recordKinds.partition, key, value));
  }

  async leaders(): Promise<Map<number, LeaderRecord>> {
    const { items } = await this.#store.range(keys.leaders);
    const all = items.map(({ key, value }) => decodeRecord(recordKinds.leader, key, value));
    return new Map(all.map((leader) => [leader.group!, leader]));
  }

  /** Every group once: it begins to serve its record, or ends. */
  async step(): Promise<void> {
    const leaders = await this.leaders();
    let moving = 0;
    for (const record of await this.records()) {
      const leader = leaders.get(record.group);
      const { replicas, namespace, partition, group, epoch } = record;
      const wanted = replicas.map(({ replica }) => replica);
      const voters = leader?.membership.voters ?? record.birth.map(({ replica }) => replica);
      const learners = wanted.filter((id) => !voters.includes(id));
      if (learners.length > 0) moving++;
      if (isSettled(record, leader)) continue;
      const told =
        leader !== undefined && learners.every((id) => leader.membership.learners.includes(id));
      const stuck = replicas.some(
        ({ replica, node }) => learners.includes(replica) && node === this.unfillable,
      );
      const filled = (learners.length === 0 || told) && !stuck;
      if (stuck && told) continue;
      const next: LeaderRecord = {
        ...{ version: 1, namespace, partition, group, term: 1 },
        ...{ node: replicas[0]!.node, replica: replicas[0]!.replica },
        membership: filled
          ? { epoch, voters: wanted, learners: [], joint: false }
          : { epoch: leader?.membership.epoch ?? 1, voters, learners, joint: false },
      };
      await this.#store.put(keys.leader(namespace, partition), encodeRecord(next));
    }
    this.mostMoving = Math.max(this.mostMoving, moving);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (!this.#paused) await this.step();
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }
}
