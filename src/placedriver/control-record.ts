/** The record of the cluster's switches, as a master first writes it. */
import { type ControlRecord, SCHEMA_VERSION } from '../meta/schema.ts';
import type { PlacementSettings } from './term.ts';

export function firstControl(
  { balanceWindow }: PlacementSettings,
  stableNodes: number,
): ControlRecord {
  const balance = { enabled: true, ...(balanceWindow && { window: balanceWindow }) };
  return { version: SCHEMA_VERSION, stableNodes, balance };
}
