/** XREAD that waits, as the leader of its partition runs it. */
import { textBytes } from '../../commands/rows/args.ts';
import type { ReadCommand, ReadingForm, ReadRun } from '../../commands/rows/command.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import {
  compareIds,
  formatStreamId,
  MIN_STREAM_ID,
  parseStreamId,
  type StreamId,
} from '../../encoding/records/stream-id.ts';
import { readStream } from '../../encoding/streams/stream.ts';
import type { View } from '../../encoding/txn/view.ts';
import type { CommandLine } from '../entries/batch.ts';

const LAST = '$';

/** A request that waits by reading, as the command table understands it. */
export interface ReadingRequest {
  readonly row: ReadCommand;
  readonly form: ReadingForm;
}

/** Undefined when `line` is nothing that waits by reading, or not well formed. */
export function readingRequest(line: CommandLine): ReadingRequest | undefined {
  const row = resolveCommand(line);
  if (row?.kind !== 'read' || row.blocking === undefined || !row.prepare(line).ok) return undefined;
  const form = row.blocking(line);
  return form && { row, form };
}

/** Whether an ID of it means what is last when it is asked for. */
export function meansLast({ ids }: ReadingForm): boolean {
  return ids.some(isLast);
}

/** The IDs of a form that has no such. */
export function concreteIds({ ids }: ReadingForm): readonly StreamId[] {
  return ids.map((id) => parseStreamId(id, 0n) ?? MIN_STREAM_ID);
}

/** The run of the request; `onConcrete` is told the request with the IDs that are last in what it reads. */
export function firstRun(
  { row, form }: ReadingRequest,
  onConcrete: (line: CommandLine) => void,
): ReadRun {
  return (view, context) => {
    const ids = form.ids.map((id, at) =>
      isLast(id) ? (lastIdOf(view, form.keys[at]!, context.nowMs) ?? id) : id,
    );
    const line = form.of(form.keys, ids);
    onConcrete(line);
    const prepared = row.prepare(line);
    return prepared.ok ? prepared.run(view, context) : prepared.reply;
  };
}

/** The same request of some of its keys. */
export function partOf({ form }: ReadingRequest, at: readonly number[]): CommandLine {
  const some = (of: readonly Buffer[]) => at.map((place) => of[place]!);
  return form.of(some(form.keys), some(form.ids));
}

/** Whether the stream may have entries behind `id`; that they were deleted is found when they are read. */
export function mayHaveBehind(view: View, key: Buffer, id: StreamId, nowMs: number): boolean {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined || stream === 'wrong-type') return false;
  return stream.size > 0 && compareIds(stream.lastId, id) > 0;
}

function isLast(id: Buffer): boolean {
  return textBytes(id).toString('latin1') === LAST;
}

/** Undefined for another type: the run itself tells that, behind what is wrong with earlier keys. */
function lastIdOf(view: View, key: Buffer, nowMs: number): Buffer | undefined {
  const stream = readStream(view, key, nowMs);
  if (stream === 'wrong-type') return undefined;
  return Buffer.from(formatStreamId(stream?.lastId ?? MIN_STREAM_ID));
}
