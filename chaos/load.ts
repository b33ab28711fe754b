/** Clients at the three doors, each with one request under way at any time. */

import type { Random } from '../src/common/random.ts';
import { pause } from '../tools/children.ts';
import { ClusterDoor, type Door, doorKinds, GatewayDoor, SdkDoor } from './doors.ts';
import type { Recorder } from './recorder.ts';
import { readOf, Worker } from './work.ts';

export interface Addresses {
  readonly placedrivers: readonly string[];
  readonly gateways: readonly string[];
  readonly clusterPorts: readonly string[];
}

const GENERATION_MS = 4_000;
const REST_MS = 12;
const PROBE_REST_MS = 150;
const AFTER_FAILURE_MS = 60;
const CALLS_MAX = 3_000_000;
const READERS = 12;
const READ_TRIES = 40;

export class Load {
  readonly #recorder: Recorder;
  readonly #doors: Door[] = [];
  readonly #tasks: Promise<void>[] = [];
  readonly #beganMs = performance.now();
  #running = true;

  /**
   * Begins at once: `clients` at each door, and one more there that waits at queues. Besides, each
   * partition is probed at two doors: clients that wait for one partition ask no other.
   */
  constructor(addresses: Addresses, clients: number, random: Random, recorder: Recorder) {
    this.#recorder = recorder;
    const sdk = makeDoor('sdk', addresses, 0);
    this.#doors.push(sdk);
    for (let partition = 0; partition < recorder.partitions; partition++) {
      const cluster = makeDoor('cluster', addresses, partition);
      this.#doors.push(cluster);
      for (const door of [sdk, cluster]) this.#tasks.push(this.#probe(door, partition));
    }
    for (const kind of doorKinds) {
      for (let at = 0; at <= clients; at++) {
        const door = makeDoor(kind, addresses, at);
        this.#doors.push(door);
        const name = `${kind[0]}${at}`;
        const worker = new Worker(random.fork(name), name);
        this.#tasks.push(this.#work(door, name, worker, at === clients));
      }
    }
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#tasks);
    for (const door of this.#doors) door.close();
  }

  async #probe(door: Door, partition: number): Promise<void> {
    const lines = [['SET', this.#recorder.keyOf(partition), '1']];
    while (this.#running && this.#recorder.probes.length < CALLS_MAX) {
      const invokedMs = performance.now();
      const { kind: outcome } = await door.send({ lines });
      const endedMs = performance.now();
      this.#recorder.noteProbe({ door: door.kind, partition, invokedMs, endedMs, outcome });
      await pause(PROBE_REST_MS);
    }
  }

  async #work(door: Door, name: string, worker: Worker, waits: boolean): Promise<void> {
    while (this.#running && this.#recorder.answers.length < CALLS_MAX) {
      const invokedMs = performance.now();
      const generation = Math.floor((invokedMs - this.#beganMs) / GENERATION_MS);
      const { family: _, ...work } = waits ? worker.nextWait(generation) : worker.next(generation);
      const outcome = await door.send(work);
      const times = { invokedMs, endedMs: performance.now() };
      this.#recorder.note(name, door.kind, work, times, outcome);
      await pause(outcome.kind === 'ok' ? REST_MS : AFTER_FAILURE_MS);
    }
  }
}

function makeDoor(kind: Door['kind'], addresses: Addresses, at: number): Door {
  switch (kind) {
    case 'sdk':
      return new SdkDoor(addresses.placedrivers);
    case 'gateway':
      return new GatewayDoor(addresses.gateways, at);
    case 'cluster':
      return new ClusterDoor(addresses.clusterPorts, at);
  }
}

/** Reads every key of the history once more: what was acknowledged must still be there. */
export async function readAll(addresses: Addresses, recorder: Recorder): Promise<number> {
  const keys = new Set<string>();
  for (const { lines } of recorder.calls) for (const [, key = ''] of lines) keys.add(key);
  const left = [...keys];
  const read = async (_: unknown, at: number) => {
    const door = new GatewayDoor(addresses.gateways, at);
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      for (let tried = 1; ; tried++) {
        const request = { lines: [readOf(key)] };
        const invokedMs = performance.now();
        const outcome = await door.send(request);
        if (outcome.kind === 'ok') {
          const times = { invokedMs, endedMs: performance.now() };
          recorder.note(`reader${at}`, 'gateway', request, times, outcome);
          break;
        }
        if (tried === READ_TRIES) throw new Error(`${key} cannot be read: ${outcome.why}`);
        await pause(500);
      }
    }
    door.close();
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return keys.size;
}
