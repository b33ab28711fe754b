/** What a cluster costs that nobody uses: many partitions, whose groups sleep. */
import { join } from 'node:path';
import { pause } from '../tools/children.ts';
import { Accounting } from './accounting.ts';
import { startKvorum } from './kvorum-cluster.ts';
import { ask } from './redis-door.ts';
import type { Idle } from './results.ts';

export const IDLE_PARTITIONS = 100;
export const IDLE_SECONDS = 20;

const ASLEEP_MS = 60_000;
/** What a start leaves behind, compilation and garbage, is not the cost of being idle. */
const SETTLE_MS = 60_000;

/** Groups that sleep, from the text of INFO. */
export function asleepOf(info: string): number {
  return Number(/^groups_asleep:(\d+)\s*$/m.exec(info)?.[1] ?? 0);
}

/** Rejects when the groups are not asleep within a minute. */
export async function measureIdle(directory: string): Promise<Idle> {
  const kvorum = await startKvorum(join(directory, 'idle'), undefined, IDLE_PARTITIONS);
  const accounting = new Accounting(kvorum.processes);
  try {
    const untilMs = Date.now() + ASLEEP_MS;
    let asleep = 0;
    while (asleep < IDLE_PARTITIONS) {
      if (Date.now() > untilMs) {
        throw new Error(`${asleep} of ${IDLE_PARTITIONS} idle groups sleep after a minute`);
      }
      await pause(500);
      asleep = asleepOf(await ask(kvorum.gatewayPort, 'info', 'kvorum'));
    }
    await pause(SETTLE_MS);
    const { usage } = await accounting.during(() => pause(IDLE_SECONDS * 1_000));
    kvorum.check();
    const { servers, seconds, otherCores } = usage;
    return { partitions: IDLE_PARTITIONS, seconds, servers, otherCores };
  } finally {
    accounting.close();
    await kvorum.stop();
  }
}
