/** All scenarios by their names. */
import { bulk } from './bulk.ts';
import { catchUp } from './catch-up.ts';
import { failover } from './failover.ts';
import { groups } from './groups.ts';
import { holds } from './holds/holds.ts';
import { hotGroups } from './hot-groups.ts';
import { manyClients } from './many-clients.ts';
import { nodeStart } from './node-start.ts';
import type { Scenario, ScenarioName } from './scenario.ts';
import { transfer } from './transfer.ts';

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  ...{ failover, transfer, groups, 'hot-groups': hotGroups, start: nodeStart },
  ...{ 'catch-up': catchUp, bulk, memory: manyClients, holds },
};
