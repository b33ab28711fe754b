/**
 * Batches of many connections for one partition that another node leads travel as one: what comes in
 * within a turn is one request, for writes one sequence of this node's session, and one place in the
 * leader's entry. A batch of one command costs a node most by being a batch.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import {
  type CommandBatch,
  type CommandLine,
  changedBatch,
  type LineResult,
} from '../partition/batch.ts';
import { emptiesPartition } from '../partition/empties-partition.ts';
import { lineBytes } from '../partition/envelope.ts';
import { isSinglePoint } from '../partition/run-reads.ts';
import { execWithin } from '../partition/watches.ts';

export type Send = (batch: CommandBatch) => Promise<readonly LineResult[]>;

interface Part {
  readonly batch: CommandBatch;
  readonly resolve: (results: readonly LineResult[]) => void;
  readonly reject: (failure: unknown) => void;
}

interface Joined {
  readonly parts: Part[];
  lines: number;
  bytes: number;
}

export class JoinedBatches {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  readonly #send: Send;
  /** By group, kind and protocol. */
  #open = new Map<string, Joined>();

  constructor(clock: Pick<Clock, 'endOfTurn'>, send: Send) {
    this.#clock = clock;
    this.#send = send;
  }

  /** As `send`, some time within this turn; results are those of this batch's own lines. */
  send(batch: CommandBatch): Promise<readonly LineResult[]> {
    const bytes = joinableBytes(batch);
    if (bytes === undefined) return this.#send(batch);
    return new Promise((resolve, reject) => {
      const joined = this.#room(batch, bytes);
      joined.parts.push({ batch, resolve, reject });
      joined.lines += batch.lines.length;
      joined.bytes += bytes;
    });
  }

  #room(batch: CommandBatch, bytes: number): Joined {
    const name = `${batch.group} ${batch.kind} ${batch.protocol}`;
    const open = this.#open.get(name);
    if (open !== undefined) {
      const lines = open.lines + batch.lines.length;
      if (lines <= limits.joinedLinesMax && open.bytes + bytes <= limits.joinedBytesMax)
        return open;
      this.#leave(open);
    }
    if (this.#open.size === 0) this.#clock.endOfTurn(() => this.#leaveAll());
    const joined: Joined = { parts: [], lines: 0, bytes: 0 };
    this.#open.set(name, joined);
    return joined;
  }

  #leaveAll(): void {
    const open = this.#open;
    this.#open = new Map();
    for (const joined of open.values()) this.#leave(joined);
  }

  #leave({ parts }: Joined): void {
    const [first] = parts;
    const batch = parts.length === 1 ? first!.batch : joinedOf(parts);
    this.#send(batch).then(
      (results) => share(parts, results),
      (failure: unknown) => {
        for (const { reject } of parts) reject(failure);
      },
    );
  }
}

/** Undefined: it goes by itself. Nobody is to wait for what only another connection asked for. */
function joinableBytes(batch: CommandBatch): number | undefined {
  const { lines, witness, group, kind } = batch;
  if (witness || group === undefined || lines.length > limits.joinedLinesMax / 2) return undefined;
  if (kind === 'read' && !isSinglePoint(batch)) return undefined;
  let bytes = 0;
  for (const line of lines) {
    if (travelsAlone(line)) return undefined;
    bytes += lineBytes(line);
  }
  return bytes > limits.joinedBytesMax / 2 ? undefined : bytes;
}

/** What was answered before FLUSHALL in its batch is not kept; an EXEC is judged by its own watch. */
function travelsAlone(line: CommandLine): boolean {
  return emptiesPartition(line) || execWithin(line) !== undefined;
}

function joinedOf(parts: readonly Part[]): CommandBatch {
  const lines: CommandBatch['lines'][number][] = [];
  const prepared: NonNullable<CommandBatch['prepared']>[number][] = [];
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const { batch } of parts) {
    deadlineMs = Math.min(deadlineMs, batch.deadlineMs);
    for (let at = 0; at < batch.lines.length; at++) {
      lines.push(batch.lines[at]!);
      prepared.push(batch.prepared?.[at]);
    }
  }
  return changedBatch(parts[0]!.batch, { lines, prepared, deadlineMs });
}

function share(parts: readonly Part[], results: readonly LineResult[]): void {
  let at = 0;
  for (const { batch, resolve } of parts) {
    resolve(results.slice(at, at + batch.lines.length));
    at += batch.lines.length;
  }
}
