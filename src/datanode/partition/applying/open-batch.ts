/** Entries that are applied, on their way into one engine batch. */
import type { Txn } from '../../encoding/txn/txn.ts';
import type { Entry } from '../../raft/message.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import type { ReplicaState } from '../storage/state.ts';
import type { AppliedEntry } from './applier.ts';
import { type ApplyStep, Weight } from './apply-lines.ts';
import { ScriptEffects } from './script-effects.ts';

export interface OpenBatch {
  readonly txn: Txn;
  readonly effects: ScriptEffects;
  /** Of what was applied since it was last asked. */
  readonly weight: Weight;
  readonly applied: AppliedEntry[];
  state: ReplicaState;
  expiryEntries: number;
  expiredKeys: number;
  expiredFields: number;
  /** Of what `applied` answers, which is kept until the batch is written. */
  replyBytes: number;
}

/** Behind `state`; `isFollowed`: somebody asks which keys change. */
export function openBatch(
  txn: Txn,
  state: ReplicaState,
  effects = new ScriptEffects(),
  isFollowed = false,
): OpenBatch {
  if (isFollowed) txn.touched = [];
  const counts = { expiryEntries: 0, expiredKeys: 0, expiredFields: 0, replyBytes: 0 };
  return { txn, effects, weight: new Weight(txn), applied: [], state, ...counts };
}

/** What is kept until the batch is written. */
export function heldBytes({ replyBytes, txn, effects }: OpenBatch): number {
  return replyBytes + effects.bytes + Math.max(txn.putBytes, txn.heldBytes);
}

/** The entry is applied to the batch's transaction. */
export function take(batch: OpenBatch, { index, term }: Entry, step: ApplyStep): void {
  batch.state = step.state;
  if (step.expired !== undefined) {
    batch.expiryEntries++;
    batch.expiredKeys += step.expired.keys;
    batch.expiredFields += step.expired.fields;
  }
  const { replies, served } = step;
  for (const reply of replies) batch.replyBytes += replyBytes(reply);
  batch.applied.push(
    served === undefined ? { index, term, replies } : { index, term, replies, served },
  );
}
