/**
 * Where batches of one group and one kind gather (`joined-batches.ts`). Reads leave at the end of the
 * turn, writes with the cohort of the node (`partition/proposing/cohort.ts`): the entries of the groups that it
 * leads itself, and what it sends to other leaders.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import { type CommandBatch, changedBatch, type LineResult } from '../partition/entries/batch.ts';
import type { Cohorts, Companion } from '../partition/proposing/cohort.ts';
import type { Turner, Turns } from '../partition/turns/turns.ts';

/** `gone` aborts when nobody waits for what a read answers. */
export type Send = (batch: CommandBatch, gone?: AbortSignal) => Promise<readonly LineResult[]>;

export interface RoomWorld {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly turns: Pick<Turns, 'request'>;
  readonly cohorts: Pick<Cohorts, 'join'>;
}

interface Part {
  readonly batch: CommandBatch;
  readonly resolve: (results: readonly LineResult[] | Promise<readonly LineResult[]>) => void;
  readonly reject: (failure: unknown) => void;
}

/** Reads of a group whose answer was large are not joined for so long. */
const APART_MS = 1_000;

export class JoinedRoom implements Turner {
  readonly #world: RoomWorld;
  readonly #send: Send;
  readonly #companion: Companion | undefined;
  #parts: Part[] = [];
  #lines = 0;
  #bytes = 0;
  /** Commands that have left and are not answered. */
  #underWay = 0;
  #apartUntilMs = Number.NEGATIVE_INFINITY;

  constructor(kind: CommandBatch['kind'], world: RoomWorld, send: Send) {
    this.#world = world;
    this.#send = send;
    if (kind === 'write') this.#companion = world.cohorts.join(() => world.turns.request(this));
  }

  /** Nobody waits here, and nothing is remembered. */
  get isIdle(): boolean {
    return this.#lines + this.#underWay === 0 && !this.isApart;
  }

  /** What comes now is to go by itself. */
  get isApart(): boolean {
    return this.#world.clock.monotonicMs() < this.#apartUntilMs;
  }

  /** A batch of so many bytes comes in; results are those of its own lines. */
  enter(batch: CommandBatch, bytes: number): Promise<readonly LineResult[]> {
    const count = batch.lines.length;
    const isFull = this.#lines + count > limits.joinedLinesMax[batch.kind];
    if (isFull || this.#bytes + bytes > limits.joinedBytesMax) this.leave();
    return new Promise((resolve, reject) => {
      this.#parts.push({ batch, resolve, reject });
      this.#lines += count;
      this.#bytes += bytes;
      this.#note();
      this.#world.turns.request(this);
    });
  }

  turn(): void {
    if (this.#lines > 0 && (this.#companion?.mayLeave() ?? true)) this.leave();
  }

  fail(failure: unknown): void {
    for (const { reject } of this.#empty()) reject(failure);
    this.#note();
  }

  /** Whatever the cohort says. */
  leave(): void {
    const count = this.#lines;
    const parts = this.#empty();
    if (count === 0) return;
    this.#underWay += count;
    this.#note();
    sent(this.#send, joinedOf(parts)).then(
      (results) => {
        this.#onAnswered(count);
        this.#share(parts, results);
      },
      (failure: unknown) => {
        this.#onAnswered(count);
        for (const { reject } of parts) reject(failure);
      },
    );
  }

  close(): void {
    this.leave();
    this.#companion?.stop();
  }

  #empty(): Part[] {
    const parts = this.#parts;
    this.#parts = [];
    this.#lines = 0;
    this.#bytes = 0;
    return parts;
  }

  #onAnswered(count: number): void {
    this.#underWay -= count;
    this.#note();
  }

  #note(): void {
    this.#companion?.note(this.#lines, this.#underWay);
  }

  /** What was cut because others' replies were large is asked for again, by itself. */
  #share(parts: readonly Part[], results: readonly LineResult[]): void {
    if (parts.length === 1) return parts[0]!.resolve(results);
    const isLarge = replyBytesOf(results) > limits.joinedBytesMax;
    if (isLarge) this.#apartUntilMs = this.#world.clock.monotonicMs() + APART_MS;
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

/** What `send` throws is how it failed. */
async function sent(send: Send, batch: CommandBatch): Promise<readonly LineResult[]> {
  return send(batch);
}

/** Each part's connection minds its own deadline: that of the whole is the last. */
function joinedOf(parts: readonly Part[]): CommandBatch {
  if (parts.length === 1) return parts[0]!.batch;
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
  return changedBatch(parts[0]!.batch, { lines, prepared, deadlineMs, asker: undefined });
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
