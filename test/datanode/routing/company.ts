/**
 * What a router has from its node's host: who is called at the end of a turn, when writes leave, and
 * that no replica is held.
 */
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { Cohorts } from '../../../src/datanode/partition/cohort.ts';
import { Turns } from '../../../src/datanode/partition/turns.ts';

export function company(clock: Clock = systemClock) {
  return { turns: new Turns(clock), cohorts: new Cohorts(clock), holds: () => false };
}
