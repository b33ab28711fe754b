/** The lines of a batch of reads: which they are, and how each begins. */

import { gatherRow } from '../../commands/cluster/gather.ts';
import type { ReadCommand, RunContext, RunResult } from '../../commands/rows/command.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import type { Pacing, Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { CommandBatch, CommandLine } from '../entries/batch.ts';
import type { HotRanges } from '../remembering/hot-ranges.ts';
import { type Begun, beginRanges, orTooLarge } from '../turns/run-ranges.ts';

/** Each line touches exactly one engine key. */
export function isSinglePoint(batch: CommandBatch): boolean {
  const { lines, prepared } = batch;
  for (let at = 0; at < lines.length; at++) {
    if ((prepared?.[at] ?? readCommand(lines[at]!))?.singlePoint !== true) return false;
  }
  return true;
}

function readCommand(line: CommandLine): ReadCommand | undefined {
  const command = resolveCommand(line) ?? gatherRow(line);
  return command?.kind === 'read' ? command : undefined;
}

/** The line at `at`: its reply, or the run that asks for ranges. */
export function startLine(
  { lines, prepared: known }: CommandBatch,
  at: number,
  view: View,
  context: RunContext,
): RunResult {
  return orTooLarge(() => {
    const ready = known?.[at];
    if (ready !== undefined) return ready.run(view, context);
    const line = lines[at]!;
    const command = readCommand(line);
    if (command === undefined) return error(`ERR '${line[0]?.toString()}' is not a read command`);
    const prepared = command.prepare(line);
    return prepared.ok ? prepared.run(view, context) : prepared.reply;
  });
}

/** A run that needs what is not known: to be taken on in the same turn, on a snapshot. */
export interface BegunRun {
  readonly run: Slices<Reply>;
  readonly begun: Begun<Reply> | undefined;
}

/** The reply, when all that the run asks for is known of the engine as it is now. */
export function beginKnown(
  run: Slices<Reply>,
  hot: HotRanges | undefined,
  pace: Pacing,
): Reply | BegunRun {
  if (hot === undefined) return { run, begun: undefined };
  const begun = orTooLarge(() => beginRanges(run, (range) => hot.known(range), pace));
  if ('kind' in begun) return begun;
  return begun.done ? begun.value : { run, begun };
}
