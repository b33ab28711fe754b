/** Every scenario; each name is there once. */
import { caching } from './caching.ts';
import { etcd } from './etcd.ts';
import { gateways } from './gateways.ts';
import { leaseScenarios } from './leases.ts';
import { members } from './members.ts';
import { operations } from './operations.ts';
import { others } from './others.ts';
import { redisRaft } from './redis-raft.ts';
import type { Scenario } from './scenario.ts';

export const scenarios: readonly Scenario[] = [
  ...redisRaft,
  ...members,
  ...etcd,
  ...leaseScenarios,
  ...others,
  ...gateways,
  ...operations,
  ...caching,
];
