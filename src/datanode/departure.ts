/** The part of a graceful stop that comes before the doors close. */
import { type Clock, sleep } from '../common/clock.ts';
import type { NodeId } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { DatanodeCoordinator } from './coordinator/coordinator.ts';
import type { PartitionHost } from './partition/host/host.ts';

export interface DepartureGround {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly host: Pick<PartitionHost, 'leave'>;
  readonly coordinator: Pick<DatanodeCoordinator, 'view' | 'stop'>;
}

const POLL_MS = 10;
/** For nodes without a replica to hear from the metadata store who leads now. */
const TOLD_MS = 1_000;
/** For requests that peers sent before they heard. */
const LATE_REQUESTS_MS = 50;

/**
 * Hands over the leaders, for `boundMs` at most, and withdraws the registration. Clients are served
 * all the while, by leaders elsewhere in the end.
 */
export async function depart(ground: DepartureGround, boundMs: number): Promise<void> {
  const { node, clock, logger, host, coordinator } = ground;
  const beganMs = clock.monotonicMs();
  const kept = await host.leave(boundMs);
  const tookMs = Math.round(clock.monotonicMs() - beganMs);
  logger.info('leaders are handed over', { kept, tookMs });
  const untilMs = clock.monotonicMs() + TOLD_MS;
  while (coordinator.view.leads(node) > kept && clock.monotonicMs() < untilMs) {
    await sleep(clock, POLL_MS);
  }
  await coordinator.stop();
  await sleep(clock, LATE_REQUESTS_MS);
}
