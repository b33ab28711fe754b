/** What a cluster costs that nobody uses: many partitions, whose groups sleep. */
import { join } from 'node:path';
import { pause } from '../tools/children.ts';
import { Accounting, type Memory } from './accounting.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import { ask } from './redis-door.ts';
import type { Idle } from './results.ts';
import { GROUP_START_SECONDS } from './scenario.ts';

export const IDLE_PARTITIONS = 100;
export const IDLE_SECONDS = 20;

const ASLEEP_MS = 60_000;
const ASLEEP_EACH_MS = 60;
/** What a start leaves behind is not the cost of being idle: V8 collects it once, 80 to 90 s later. */
const SETTLE_MS = 90_000;

/** Groups that sleep, from the text of INFO. */
export function asleepOf(info: string): number {
  return Number(/^groups_asleep:(\d+)\s*$/m.exec(info)?.[1] ?? 0);
}

export interface IdleCluster {
  readonly idle: Idle;
  /** By process, in the end. */
  readonly memory: Readonly<Record<string, Memory>>;
}

/** About how long it takes. */
export function idleSeconds(partitions: number): number {
  return 15 + partitions * GROUP_START_SECONDS + SETTLE_MS / 1_000 + IDLE_SECONDS;
}

/** Rejects when the groups are not asleep a minute after the start, or two when they are many. */
export async function measureIdle(
  directory: string,
  partitions = IDLE_PARTITIONS,
): Promise<IdleCluster> {
  const kvorum = await startKvorum(join(directory, 'idle'), undefined, partitions);
  const accounting = new Accounting(kvorum.processes);
  try {
    await untilAsleep(kvorum);
    await pause(SETTLE_MS);
    const { usage } = await accounting.during(() => pause(IDLE_SECONDS * 1_000));
    kvorum.check();
    const { servers, seconds, otherCores } = usage;
    const idle = { partitions, seconds, servers, otherCores };
    return { idle, memory: accounting.memory() };
  } finally {
    accounting.close();
    await kvorum.stop();
  }
}

async function untilAsleep({ datanodes, partitions }: RunningKvorum): Promise<void> {
  const untilMs = performance.now() + ASLEEP_MS + partitions * ASLEEP_EACH_MS;
  for (;;) {
    const ports = datanodes.names.map((name) => datanodes.gatewayPort(name));
    const infos = await Promise.all(ports.map((port) => ask(port, 'info', 'kvorum')));
    const asleep = Math.min(...infos.map(asleepOf));
    if (asleep >= partitions) return;
    if (performance.now() > untilMs) {
      throw new Error(`${asleep} of ${partitions} idle groups sleep after a minute or two`);
    }
    await pause(500);
  }
}
