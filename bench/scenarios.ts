/** All scenarios by their names. */
import { failover } from './failover.ts';
import type { Scenario, ScenarioName } from './scenario.ts';
import { transfer } from './transfer.ts';

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = { failover, transfer };
