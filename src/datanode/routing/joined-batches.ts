/**
 * Batches of many connections for one partition that another node leads travel as one: what comes in
 * within a turn is one request, for writes one sequence of this node's session, and one place in the
 * leader's entry. A batch of one command costs a node most by being a batch.
 *
 * By themselves go writes that may answer much (`short-writes.ts`; EXEC and FLUSHALL are none of the
 * others either), reads of ranges, what is large, and reads of a group that has just answered much:
 * nobody is to wait for what only another connection asked for.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import { type CommandBatch, changedBatch, type LineResult } from '../partition/batch.ts';
import { lineBytes } from '../partition/envelope.ts';
import { isSinglePoint } from '../partition/run-reads.ts';
import { answersShortly } from './short-writes.ts';

export type Send = (batch: CommandBatch) => Promise<readonly LineResult[]>;

interface Part {
  readonly batch: CommandBatch;
  readonly resolve: (results: readonly LineResult[] | Promise<readonly LineResult[]>) => void;
  readonly reject: (failure: unknown) => void;
}

interface Joined {
  readonly name: number;
  readonly parts: Part[];
  lines: number;
  bytes: number;
}

/** Reads of a group whose answer was large are not joined for so long. */
const APART_MS = 1_000;

export class JoinedBatches {
  readonly #clock: Pick<Clock, 'endOfTurn' | 'monotonicMs'>;
  readonly #send: Send;
  /** By group, kind and protocol. */
  #open = new Map<number, Joined>();
  /** Until when they are not joined. */
  readonly #apart = new Map<number, number>();

  constructor(clock: Pick<Clock, 'endOfTurn' | 'monotonicMs'>, send: Send) {
    this.#clock = clock;
    this.#send = send;
  }

  /** As `send`, some time within this turn; results are those of this batch's own lines. */
  send(batch: CommandBatch): Promise<readonly LineResult[]> {
    const bytes = joinableBytes(batch);
    if (bytes === undefined) return this.#send(batch);
    const name = nameOf(batch);
    if (this.#isApart(name)) return this.#send(batch);
    return new Promise((resolve, reject) => {
      const joined = this.#room(name, batch, bytes);
      joined.parts.push({ batch, resolve, reject });
      joined.lines += batch.lines.length;
      joined.bytes += bytes;
    });
  }

  #isApart(name: number): boolean {
    const untilMs = this.#apart.get(name);
    if (untilMs === undefined) return false;
    if (this.#clock.monotonicMs() < untilMs) return true;
    this.#apart.delete(name);
    return false;
  }

  #room(name: number, batch: CommandBatch, bytes: number): Joined {
    const { joinedLinesMax, joinedBytesMax } = limits;
    const open = this.#open.get(name);
    if (open !== undefined) {
      const lines = open.lines + batch.lines.length;
      if (lines <= joinedLinesMax && open.bytes + bytes <= joinedBytesMax) return open;
      this.#leave(open);
    }
    if (this.#open.size === 0) this.#clock.endOfTurn(() => this.#leaveAll());
    const joined: Joined = { name, parts: [], lines: 0, bytes: 0 };
    this.#open.set(name, joined);
    return joined;
  }

  #leaveAll(): void {
    const open = this.#open;
    this.#open = new Map();
    for (const joined of open.values()) this.#leave(joined);
  }

  #leave({ name, parts }: Joined): void {
    if (parts.length === 1) return parts[0]!.resolve(this.#send(parts[0]!.batch));
    this.#send(joinedOf(parts)).then(
      (results) => {
        const isLarge = replyBytesOf(results) > limits.joinedBytesMax;
        if (isLarge) this.#apart.set(name, this.#clock.monotonicMs() + APART_MS);
        this.#share(parts, results, isLarge);
      },
      (failure: unknown) => {
        for (const { reject } of parts) reject(failure);
      },
    );
  }

  /** What was cut because others' replies were large is asked for again, by itself. */
  #share(parts: readonly Part[], results: readonly LineResult[], isLarge: boolean): void {
    const wasCut = results[0]!.ok && results.at(-1)!.ok === false;
    let at = 0;
    for (const { batch, resolve } of parts) {
      const own = results.slice(at, at + batch.lines.length);
      at += batch.lines.length;
      if (wasCut && isBusy(own[0]!)) resolve(this.#send(batch));
      else resolve(isLarge ? own.map(detached) : own);
    }
  }
}

/** Of a group, a kind and a protocol. */
function nameOf({ group = 0, kind, protocol }: CommandBatch): number {
  return group * 4 + (kind === 'read' ? 0 : 2) + (protocol === 2 ? 0 : 1);
}

/** Undefined: it goes by itself. */
function joinableBytes(batch: CommandBatch): number | undefined {
  const { lines, witness, group, kind } = batch;
  if (witness || !group || lines.length > limits.joinedLinesMax / 2) return undefined;
  if (kind === 'read' ? !isSinglePoint(batch) : !lines.every(answersShortly)) return undefined;
  let bytes = 0;
  for (const line of lines) bytes += lineBytes(line);
  return bytes > limits.joinedBytesMax / 2 ? undefined : bytes;
}

/** Each part's connection minds its own deadline: that of the whole is the last. */
function joinedOf(parts: readonly Part[]): CommandBatch {
  const lines: CommandBatch['lines'][number][] = [];
  const prepared: NonNullable<CommandBatch['prepared']>[number][] = [];
  let deadlineMs = 0;
  for (const { batch } of parts) {
    deadlineMs = Math.max(deadlineMs, batch.deadlineMs);
    for (let at = 0; at < batch.lines.length; at++) {
      lines.push(batch.lines[at]!);
      prepared.push(batch.prepared?.[at]);
    }
  }
  return changedBatch(parts[0]!.batch, { lines, prepared, deadlineMs });
}

function isBusy(result: LineResult): boolean {
  return !result.ok && result.code === 'BUSY';
}

function replyBytesOf(results: readonly LineResult[]): number {
  let bytes = 0;
  for (const result of results) {
    if (result.ok && result.reply.kind === 'encoded') bytes += result.reply.bytes.length;
  }
  return bytes;
}

/** A reply that is not sent yet holds no other's memory: all came in one piece. */
function detached(result: LineResult): LineResult {
  if (!result.ok || result.reply.kind !== 'encoded') return result;
  return { ok: true, reply: { kind: 'encoded', bytes: Buffer.from(result.reply.bytes) } };
}
