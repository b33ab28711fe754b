/** What a scenario is: something measured once, in a cluster of its own, against a target. */
import type { Options } from './options.ts';
import type { Judged } from './targets.ts';

/** In the order they are measured. */
export const scenarioNames = [
  'failover',
  'transfer',
  'groups',
  'hot-groups',
  'start',
  'catch-up',
  'bulk',
  'memory',
  'holds',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/** Values of those that want many bytes. */
export const VALUE_1K = 1_024;

/** What to reckon with on two cores, for estimates. */
export const FILLS_OF_1K_PER_SECOND = 10_000;
export const GROUP_START_SECONDS = 0.1;

export interface Stage {
  readonly options: Options;
  /** For data; empty, and removed after the scenario. */
  readonly directory: string;
  progress(text: string): void;
}

export interface Scenario {
  /** For people. */
  readonly text: string;
  /** About how long it takes. */
  seconds(options: Options): number;
  /** Starts what it measures, and stops it in any case. */
  measure(stage: Stage): Promise<readonly Judged[]>;
}
