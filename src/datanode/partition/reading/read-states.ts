/**
 * The lines of a batch of reads that need more than what is known at once: they run on a state of the
 * engine, and on a newer one each time that too much is written over it.
 */
import { limits } from '../../../common/limits.ts';
import { ReadAhead } from '../../encoding/txn/read-ahead.ts';
import type { EngineSnapshot } from '../../engine/engine.ts';
import { LostStateError } from '../../engine/lost-state.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import type { ApplyContext } from '../applying/apply-lines.ts';
import type { LineResult } from '../entries/batch.ts';
import type { ReadEngine } from '../remembering/hot-engines.ts';
import type { Fill } from '../remembering/hot-ranges.ts';
import { runReply } from '../turns/run-ranges.ts';
import type { BatchView } from './batch-view.ts';
import { CountedRanges, ReadEnded } from './counted-ranges.ts';
import type { RangeRead } from './range-line.ts';
import type { RangeSize } from './range-room.ts';
import { type BegunRun, startLine } from './read-lines.ts';

/** A batch as far as it has come. */
export interface ReadCourse {
  readonly read: RangeRead;
  readonly engine: ReadEngine;
  readonly view: BatchView;
  readonly context: ApplyContext;
  /** Of its lines, in order. */
  readonly results: LineResult[];
}

/** A batch whose states are lost so often, one after the other, is to be sent again. */
const LOST_STATES_MAX = 3;

/**
 * Appends to the results. The first state is of this turn. `first`: the line behind them, when it was
 * begun. When the state is lost, since too much is written over it, the line that found that begins anew,
 * on what is behind those writes. Told is what it is to wait for, if it came to nothing.
 */
export async function runOnStates(
  course: ReadCourse,
  first: BegunRun | undefined,
): Promise<RangeSize | undefined> {
  const { engine, view } = course;
  let source = new StateSource(engine, view);
  for (let lost = 0; ; lost++) {
    try {
      return await runOnState(course, source, lost === 0 ? first : undefined);
    } catch (failure) {
      if (!(failure instanceof LostStateError) || lost === LOST_STATES_MAX) throw failure;
    } finally {
      await source.end();
    }
    await engine.write([]);
    source = new StateSource(engine, view);
  }
}

async function runOnState(
  { read, view, context, results }: ReadCourse,
  { ranges }: StateSource,
  first: BegunRun | undefined,
): Promise<RangeSize | undefined> {
  const { batch } = read;
  const { lines } = batch;
  const from = results.length;
  const onSource = ({ run, begun }: BegunRun) => runReply(run, source, context.pace, begun);
  const runLine = (at: number) => {
    const started = startLine(batch, at, view, context);
    return 'kind' in started ? started : onSource({ run: started, begun: undefined });
  };
  const source = new CountedRanges(ranges, read.place, batch.asker);
  let bytes = results.reduce((sum, result) => sum + (result.ok ? replyBytes(result.reply) : 0), 0);
  try {
    for (let at = from; at < lines.length; at++) {
      if (bytes > bytesMaxOf(read)) return cutShort(results, lines.length);
      source.lookAround();
      source.has(bytes);
      // what waits for its check is held in memory, and beyond some of it checked in one go
      if (!view.opener.isDone) await view.opener.checkInSteps(context.pace);
      if (context.pace.isDue(true)) await context.pace.pause();
      const reply = first && at === from ? await onSource(first) : await runLine(at);
      bytes += replyBytes(reply);
      results.push({ ok: true, reply });
    }
    return undefined;
  } catch (failure) {
    return endedEarly(failure, results, lines.length);
  }
}

/** A state of the engine, and what is read of its ranges. */
class StateSource {
  readonly #snapshot: EngineSnapshot;
  /** Keeps what is read. */
  readonly #fill: Fill | undefined;
  readonly ranges: ReadAhead;

  /** Of this turn; single keys are looked for by `view`. */
  constructor(engine: ReadEngine, view: BatchView) {
    this.#snapshot = engine.snapshot();
    this.#fill = engine.hot?.open();
    this.ranges = new ReadAhead(this.#snapshot, this.#fill?.keep);
    view.moveTo(this.#snapshot);
  }

  async end(): Promise<void> {
    this.#fill?.end();
    await this.ranges.end();
    await this.#snapshot.close();
  }
}

/** Of replies: beyond, the rest of the batch is made when these are sent. */
export function bytesMaxOf({ singlePoint }: RangeRead): number {
  return singlePoint ? limits.batchReplyBytes : limits.rangeBatchBytes;
}

/** The rest may be asked for again, once the client has taken these replies. */
export function cutShort(results: LineResult[], count: number): undefined {
  const message = 'the replies before this one fill a batch';
  while (results.length < count) results.push({ ok: false, code: 'BUSY', message });
}

/**
 * What is done is told, and the rest may be asked for again; of a read that has done nothing, what it is to
 * wait for.
 */
function endedEarly(failure: unknown, results: LineResult[], count: number): RangeSize | undefined {
  if (!(failure instanceof ReadEnded)) throw failure;
  if (failure.why === 'outgrown' && results.length === 0) return 'large';
  return cutShort(results, count);
}
