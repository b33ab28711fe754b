/** How a command that changed a sorted set ends. */
import type { OpenCollection } from '../encoding/collection.ts';
import type { WriteView } from '../encoding/view.ts';
import { saveZset } from '../encoding/zset.ts';
import type { Reply } from '../resp/reply.ts';
import type { RunResult } from './command.ts';

/** Saves the set and answers; a set without members is deleted with its key. */
export function savedZset(view: WriteView, zset: OpenCollection, reply: Reply): RunResult {
  saveZset(view, zset);
  return reply;
}

/** The same for a run that reads ranges anyway. */
export function finishZset(view: WriteView, zset: OpenCollection, reply: Reply): Reply {
  saveZset(view, zset);
  return reply;
}
