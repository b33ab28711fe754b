/**
 * What a router has from its node's host: who is called at the end of a turn, when writes leave, and
 * that no replica is held, or has stopped after a fault.
 */
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { Cohorts } from '../../../src/datanode/partition/proposing/cohort.ts';
import { Turns } from '../../../src/datanode/partition/turns/turns.ts';
import type { Asker } from '../../../src/datanode/transport/transport.ts';

export function company(clock: Clock = systemClock) {
  const replicas = { holds: () => false, faultOf: () => undefined };
  return { turns: new Turns(clock), cohorts: new Cohorts(clock), ...replicas };
}

/** Of a peer that stays. */
export function asker(park: () => void = () => {}): Asker {
  return { isGone: false, signal: new AbortController().signal, park };
}
