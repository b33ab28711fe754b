/** Runs a batch of reads on an engine: synchronously where it can, else on a snapshot. */
import { limits } from '../../common/limits.ts';
import type { ReadCommand, RunContext, RunResult } from '../commands/command.ts';
import { gatherRow } from '../commands/gather.ts';
import { resolveCommand } from '../commands/table.ts';
import { LARGE_RECORD_BYTES, RecordOpener } from '../encoding/large-records.ts';
import { ReadAhead } from '../encoding/read-ahead.ts';
import type { Pacing, Slices } from '../encoding/slices.ts';
import type { Lookups, View } from '../encoding/view.ts';
import type { Engine, EngineSnapshot } from '../engine/engine.ts';
import { LostStateError } from '../engine/lost-state.ts';
import { error, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import type { ApplyContext } from './apply-lines.ts';
import type { CommandBatch, CommandLine, LineResult } from './batch.ts';
import { CountedRanges, ReadEnded } from './counted-ranges.ts';
import type { ReadEngine } from './hot-engines.ts';
import type { Fill, HotRanges } from './hot-ranges.ts';
import type { RangeRead } from './range-line.ts';
import type { RangeRoom, RangeSize } from './range-room.ts';
import { type Begun, beginRanges, orTooLarge, runReply } from './run-ranges.ts';

/** Each line touches exactly one engine key. */
export function isSinglePoint(batch: CommandBatch): boolean {
  const { lines, prepared } = batch;
  for (let at = 0; at < lines.length; at++) {
    if ((prepared?.[at] ?? readCommand(lines[at]!))?.singlePoint !== true) return false;
  }
  return true;
}

/**
 * Whether a batch is to run in a later turn. Reads of single points count by their time alone, since a
 * value may have megabytes; the first of them that a turn meets runs in it, whatever came before.
 */
export function isLate(
  { singlePoint }: { readonly singlePoint: boolean },
  ranBefore: number,
  pace: Pacing,
): boolean {
  return singlePoint ? ranBefore > 0 && pace.isDue(true) : pace.isDue();
}

function readCommand(line: CommandLine): ReadCommand | undefined {
  const command = resolveCommand(line) ?? gatherRow(line);
  return command?.kind === 'read' ? command : undefined;
}

/** What all reads of a node share. */
export interface ReadMeans {
  readonly lookups: Lookups;
  readonly pace: Pacing;
  readonly ranges: RangeRoom;
}

/**
 * What came of a read, or what it is to wait for, to be run as a whole then: `room` for values that are
 * large, or a place among ranges.
 */
export type ReadOutcome = LineResult[] | 'room' | RangeSize;

/**
 * Runs lines in order; the first that needs ranges moves the rest onto one snapshot, and so does what
 * was read when it is a turn's work: 512 GETBITs of 16 MiB are 8 GiB. The snapshot is of this turn, so
 * it shows nothing older than the lines before saw, also beside an engine batch. For that the read has a
 * place (it keeps one that it has): whoever calls gives it back when all is over.
 */
export function runReads(
  read: RangeRead,
  engine: ReadEngine,
  context: RunContext,
  { lookups, pace, ranges }: ReadMeans,
): ReadOutcome | Promise<ReadOutcome> {
  const { batch } = read;
  const { lines, room } = batch;
  const view = new BatchView(engine, lookups);
  const results: LineResult[] = [];
  const bytesMax = bytesMaxOf(read);
  let bytes = 0;
  /** Undefined once this turn has no more time for what is known. */
  let { hot } = engine;
  for (let at = 0; at < lines.length; at++) {
    if (bytes > bytesMax) {
      cutShort(results, lines.length);
      break;
    }
    const started = startLine(batch, at, view, context);
    if (!('kind' in started) && at > 0 && pace.isDue()) hot = undefined;
    const begun = 'kind' in started ? started : begin(started, hot, pace);
    const isRun = 'run' in begun;
    if (!isRun) {
      bytes += replyBytes(begun);
      results.push({ ok: true, reply: begun });
      if (view.bytesRead < LARGE_RECORD_BYTES || at === lines.length - 1) continue;
      if (!view.opener.isDone && room?.mayBeginLarge === false) return 'room';
    }
    if (!hasPlace(read, ranges)) {
      if (results.length === 0) return read.size;
      cutShort(results, lines.length);
      break;
    }
    const source = new StateSource(engine, view);
    const first = isRun ? begun : undefined;
    const rest = runOnStates(read, first, engine, source, view, { pace, ...context }, results);
    return rest.then<ReadOutcome>((wait) => wait ?? checked(results, view.opener, pace));
  }
  if (view.opener.isDone) return results;
  return room?.mayBeginLarge === false ? 'room' : checked(results, view.opener, pace);
}

/** Of replies: beyond, the rest of the batch is made when these are sent. */
function bytesMaxOf({ singlePoint }: RangeRead): number {
  return singlePoint ? limits.batchReplyBytes : limits.rangeBatchBytes;
}

function hasPlace(read: RangeRead, ranges: RangeRoom): boolean {
  if (read.singlePoint) return true;
  read.place ??= ranges.begin(read.size);
  return read.place !== undefined;
}

/** A record from this size on costs more to read again than others to be told from it. */
const KEPT_BYTES = 65_536;

/** What the lines of one batch see; an object that is cheap to make, since most have one line. */
class BatchView implements View {
  /** The engine, then a snapshot of it taken in the same turn: what was begun can go on. */
  #reader: Pick<Engine, 'getSync'>;
  #isStill = false;
  /** Of a snapshot, which does not change: many lines may look at one long string. */
  #kept: { readonly key: Buffer; readonly value: Buffer } | undefined;
  readonly lookups: Lookups;
  readonly opener = new RecordOpener();
  /** Of records. */
  bytesRead = 0;

  constructor(reader: Pick<Engine, 'getSync'>, lookups: Lookups) {
    this.#reader = reader;
    this.lookups = lookups;
  }

  moveTo(snapshot: EngineSnapshot): void {
    this.#reader = snapshot;
    this.#isStill = true;
    this.#kept = undefined;
  }

  get(key: Buffer): Buffer | undefined {
    if (this.#kept?.key.equals(key)) return this.#kept.value;
    const record = this.#reader.getSync(key);
    if (record === undefined) return undefined;
    this.bytesRead += record.length;
    const value = this.opener.open(key, record);
    if (this.#isStill && record.length >= KEPT_BYTES) this.#kept = { key: Buffer.from(key), value };
    return value;
  }
}

async function checked(
  results: LineResult[],
  opener: RecordOpener,
  pace: Pacing,
): Promise<LineResult[]> {
  await opener.checkInSteps(pace);
  return results;
}

/** The rest may be asked for again, once the client has taken these replies. */
function cutShort(results: LineResult[], count: number): undefined {
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

/** A run that needs what is not known: to be taken on in the same turn, on a snapshot. */
interface BegunRun {
  readonly run: Slices<Reply>;
  readonly begun: Begun<Reply> | undefined;
}

/** The reply, when all that the run asks for is known of the engine as it is now. */
function begin(run: Slices<Reply>, hot: HotRanges | undefined, pace: Pacing): Reply | BegunRun {
  if (hot === undefined) return { run, begun: undefined };
  const begun = orTooLarge(() => beginRanges(run, (range) => hot.known(range), pace));
  if ('kind' in begun) return begun;
  return begun.done ? begun.value : { run, begun };
}

/** A batch whose states are lost so often, one after the other, is to be sent again. */
const LOST_STATES_MAX = 3;

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

/**
 * Appends to `results`. `first`: the line behind them, when it was begun. When the state is lost, since
 * too much is written over it, the line that found that begins anew, on what is behind those writes. Told
 * is what it is to wait for, if it came to nothing.
 */
async function runOnStates(
  read: RangeRead,
  first: BegunRun | undefined,
  engine: ReadEngine,
  source: StateSource,
  view: BatchView,
  context: ApplyContext,
  results: LineResult[],
): Promise<RangeSize | undefined> {
  for (let lost = 0; ; lost++) {
    try {
      return await runOnState(read, lost === 0 ? first : undefined, source, view, context, results);
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
  read: RangeRead,
  first: BegunRun | undefined,
  { ranges }: StateSource,
  view: BatchView,
  context: ApplyContext,
  results: LineResult[],
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

function startLine(
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
