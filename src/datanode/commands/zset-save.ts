/** How a command that changed a sorted set ends. */
import type { Slices } from '../encoding/slices.ts';
import type { WriteView } from '../encoding/view.ts';
import { saveZset } from '../encoding/zset.ts';
import type { OpenZset } from '../encoding/zset-header.ts';
import type { Reply } from '../resp/reply.ts';
import type { RunResult } from './command.ts';

/** Saves the set and answers; a set without members is deleted with its key. */
export function savedZset(view: WriteView, zset: OpenZset, reply: Reply): RunResult {
  const saving = saveZset(view, zset);
  return saving === undefined ? reply : replyAfter(saving, reply);
}

/** The same for a run that reads ranges anyway. */
export function* finishZset(view: WriteView, zset: OpenZset, reply: Reply): Slices<Reply> {
  const saving = saveZset(view, zset);
  if (saving !== undefined) yield* saving;
  return reply;
}

function* replyAfter(saving: Slices<void>, reply: Reply): Slices<Reply> {
  yield* saving;
  return reply;
}
