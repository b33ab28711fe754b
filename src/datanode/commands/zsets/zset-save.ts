/** How a command that changed a sorted set ends. */

import type { OpenZset } from '../../encoding/ranks/zset-header.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { saveZset } from '../../encoding/zsets/zset.ts';
import type { Reply } from '../../resp/reply.ts';
import type { RunResult } from '../rows/command.ts';
import { tellChange } from '../rows/key-events.ts';

/** A command's reply, and the word for what it did to the set. */
export interface Ending {
  readonly event: string;
  readonly reply: Reply;
}

/** Saves the set, tells and answers; a set without members is deleted with its key. */
export function savedZset(view: WriteView, zset: OpenZset, ending: Ending): RunResult {
  const saving = saveZset(view, zset);
  if (saving !== undefined) return endAfter(saving, view, zset, ending);
  tellChange(view, 'zset', ending.event, zset);
  return ending.reply;
}

/** The same for a run that reads ranges anyway. */
export function* finishZset(view: WriteView, zset: OpenZset, ending: Ending): Slices<Reply> {
  return yield* endAfter(saveZset(view, zset), view, zset, ending);
}

function* endAfter(
  saving: Slices<void> | undefined,
  view: WriteView,
  zset: OpenZset,
  { event, reply }: Ending,
): Slices<Reply> {
  if (saving !== undefined) yield* saving;
  tellChange(view, 'zset', event, zset);
  return reply;
}
