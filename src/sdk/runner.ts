/**
 * From what a caller asks to calls of partitions and back: finds keys and partitions, splits what
 * spans several, and puts replies together.
 */
import type { PartitionId } from '../common/ids.ts';
import { type ParsedCall, parseCall } from './arguments.ts';
import { heldMs } from './blocking-time.ts';
import { Call } from './call.ts';
import type { CallPlan, CallResult, CallWorld } from './call-plan.ts';
import type { CallOptions, Consistency, WatchOptions } from './command-types.ts';
import type { Argument, Reply } from './connection.ts';
import { bytesOf, type CommandRow, mayWait, rowsByName } from './key-places.ts';
import {
  checkWatched,
  keysOf,
  keysOfAll,
  onePartition,
  type QueuedLine,
  refuseConnectionCommand,
  refuseInWatch,
  refuseOfOneNode,
} from './refusals.ts';
import { decodeReply, type Value } from './replies.ts';
import { refuseTooLarge } from './request-size.ts';
import { failureOfWrite, mergeReplies, type Part, splitLine } from './split.ts';
import type { PartitionTable } from './table.ts';
import type { TableGate } from './table-gate.ts';
import { type BatchTrace, type CommandTrace, traceBatch, traceCommand } from './tracing.ts';
import { Watch, type WatchBody, type WatchResult } from './watch.ts';
import type { Window } from './window.ts';

export interface RunnerOptions {
  readonly world: CallWorld;
  readonly namespace: string | undefined;
  readonly timeoutMs: number;
  readonly consistency: Consistency;
  /** How many watches are under way at a time. */
  readonly watches: Window;
  /**
   * Makes sure that the client looks for the table. Throws once it closes; what belongs to something
   * under way (`inside`) once it has closed.
   */
  begin(inside: boolean): void;
  /** Who waits for the first table. */
  readonly gate: TableGate;
}

/** The options of a call with the client's own filled in. */
interface Asked {
  readonly askedMs: number;
  readonly timeoutMs: number;
  readonly timeoutGiven: boolean;
  readonly signal: AbortSignal | undefined;
  readonly consistency: Consistency;
}

/** A command that is to find its partitions. */
interface Placing {
  readonly name: string;
  readonly row: CommandRow | undefined;
  readonly line: ParsedCall['line'];
  readonly asked: Asked;
  readonly trace: CommandTrace | undefined;
  readonly placed: How['placed'];
}

/** How a command is run that is part of something else. */
export interface How {
  /** Of something under way: it is taken while the client closes. */
  readonly inside?: boolean | undefined;
  /** On `clock.monotonicMs`: since when its time counts; undefined: since now. */
  readonly askedMs?: number | undefined;
  /** Told the one partition of its keys; undefined: several, or none. */
  readonly placed?: ((partition: PartitionId | undefined) => void) | undefined;
  /** Of a watch: it must be a read, without options of its own. */
  readonly watched?: { readonly timeoutMs: number; readonly signal: AbortSignal } | undefined;
}

export class Runner {
  readonly #options: RunnerOptions;
  #underWay = 0;
  #whenIdle: (() => void)[] = [];

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get namespace(): string | undefined {
    return this.#options.namespace;
  }

  /** Undefined: the partitions are known; otherwise resolves when they are. Throws CLOSED. */
  ready(): Promise<unknown> | undefined {
    this.#options.begin(false);
    const { timeoutMs, gate } = this.#options;
    return gate.table ? undefined : gate.wait(timeoutMs, undefined, true);
  }

  /** More than half of the commands that may wait do; if none may: the next would have to. */
  get isCrowded(): boolean {
    const { world, gate } = this.#options;
    return gate.isCrowded || world.window.isCrowded;
  }

  /** Resolves when that is no more so. */
  async room(): Promise<void> {
    const { world, gate } = this.#options;
    await gate.room();
    await world.window.room();
  }

  /** Counts `run` as one of those that `idle` waits for. */
  async underWay<T>(run: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await run();
    } finally {
      this.#ended();
    }
  }

  /** Resolves when nothing is under way, whatever it waits for. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** `bytes`: strings of the reply stay bytes. */
  async run(
    name: string,
    given: readonly unknown[],
    bytes: boolean,
    how: How = NO_PART,
  ): Promise<Value> {
    this.#underWay++;
    try {
      const lower = name.toLowerCase();
      const parsed = parseCall(name, given);
      const row = rowsByName.get(lower);
      refuseConnectionCommand(lower, parsed.line, row);
      const { watched } = how;
      if (watched !== undefined) refuseInWatch(lower, row, parsed);
      this.#options.begin(how.inside === true || watched !== undefined);
      const context = (): CommandTrace => ({
        command: lower,
        arguments: parsed.line.length - 1,
        namespace: this.#options.namespace,
      });
      const reply = await traceCommand(context, (trace) => {
        const options = watched === undefined ? parsed.options : fresh(watched);
        const asked = this.#asked(options, how.askedMs);
        const { placed } = how;
        const placing = { name: lower, row, line: parsed.line, asked, trace, placed };
        const table = this.#table;
        if (table !== undefined) return this.#place(placing, table);
        return this.#whenTable(asked).then((late) => this.#place(placing, late));
      });
      return decodeReply(lower, reply, bytes);
    } finally {
      this.#ended();
    }
  }

  #ended(): void {
    this.#underWay--;
    if (this.#underWay === 0) for (const tell of this.#whenIdle.splice(0)) tell();
  }

  /** EXEC's array; every key must be of one partition. */
  transaction(
    queued: readonly QueuedLine[],
    options: CallOptions,
  ): Promise<{ readonly reply: Reply; readonly partition: PartitionId | undefined }> {
    const { clock } = this.#options.world;
    const context = () => this.#batchTrace('transaction', queued.length);
    return this.underWay(() =>
      traceBatch(clock, context, async (trace) => {
        this.#options.begin(false);
        const asked = this.#asked(options);
        // Without a wait when it is known: calls of a turn keep their order.
        const table = this.#table ?? (await this.#whenTable(asked));
        for (const { name, line } of queued) {
          refuseConnectionCommand(name, line, rowsByName.get(name));
          refuseOfOneNode(table, name, line);
        }
        const keys = keysOfAll(queued);
        const partition = onePartition(table, keys, 'a transaction');
        if (trace !== undefined) trace.partition = partition;
        const reply = await this.#call(
          {
            ...asked,
            name: 'exec',
            lines: [['MULTI'], ...queued.map(({ line }) => line), ['EXEC']],
            effect: 'write',
            blocking: false,
            isTransaction: true,
            partition,
            key: keys[0],
          },
          trace,
        );
        return { reply, partition };
      }),
    );
  }

  /** `options` are checked; `keys`: at least one. */
  watch(keys: readonly Argument[], body: WatchBody, options: WatchOptions): Promise<WatchResult> {
    const { world, watches } = this.#options;
    const context = () => this.#batchTrace('watch', 0);
    return this.underWay(() =>
      traceBatch(world.clock, context, async (trace) => {
        this.#options.begin(false);
        const asked = this.#asked(options);
        const table = this.#table ?? (await this.#whenTable(asked));
        const partition = onePartition(table, keys, 'a watch');
        const watch = new Watch(world, {
          keys,
          partition,
          body,
          askedMs: asked.askedMs,
          timeoutMs: asked.timeoutMs,
          attemptsMax: options.attemptsMax ?? world.retry.attemptsMax,
          signal: asked.signal,
          window: watches,
          check: (queued) => {
            if (trace !== undefined) trace.commands = queued.length;
            checkWatched(table, queued, partition);
          },
          read: (timeoutMs, signal, ...read) =>
            this.run(...read, { watched: { timeoutMs, signal } }),
        });
        if (trace !== undefined) trace.partition = partition;
        try {
          return await watch.start();
        } finally {
          if (trace !== undefined) trace.attempts = watch.attempts;
        }
      }),
    );
  }

  #batchTrace(kind: BatchTrace['kind'], commands: number): BatchTrace {
    return { kind, namespace: this.#options.namespace, commands };
  }

  /** Undefined: not known, or others wait who came before. */
  get #table(): PartitionTable | undefined {
    return this.#options.gate.table;
  }

  #whenTable({ timeoutMs, signal }: Pick<Asked, 'timeoutMs' | 'signal'>): Promise<PartitionTable> {
    return this.#options.gate.wait(timeoutMs, signal);
  }

  /** A line for a partition, begun at once and outside of the window. */
  urgent(
    name: string,
    line: readonly Argument[],
    partition: PartitionId,
    timeoutMs: number,
    done: (result: CallResult) => void,
  ): void {
    const { world } = this.#options;
    const asked = this.#asked({ timeoutMs });
    const plan: CallPlan = {
      ...asked,
      name,
      lines: [line],
      effect: 'read',
      blocking: false,
      partition,
      key: undefined,
      consistency: 'linearizable',
      urgent: true,
    };
    new Call(world, plan, done).start();
  }

  #asked(
    { signal, timeoutMs, consistency }: CallOptions,
    askedMs = this.#options.world.clock.monotonicMs(),
  ): Asked {
    return {
      askedMs,
      timeoutMs: timeoutMs ?? this.#options.timeoutMs,
      timeoutGiven: timeoutMs !== undefined,
      signal,
      consistency: consistency ?? this.#options.consistency,
    };
  }

  #place(placing: Placing, table: PartitionTable): Promise<Reply> {
    const { name, row, line, asked, trace } = placing;
    const keys = keysOf(row, line);
    if (keys.length === 0) refuseOfOneNode(table, name, line);
    const partitions = keys.map((key) => table.partitionOf(bytesOf(key)));
    const [first] = partitions;
    const together = partitions.every((one) => one === first);
    const partition = together ? first : undefined;
    if (trace !== undefined) trace.partition = partition;
    placing.placed?.(partition);
    const units = keys.length > 1 ? keys.map((key) => table.unitOf(bytesOf(key))) : [];
    if (units.some((unit) => unit !== units[0])) {
      const parts = splitLine(
        name,
        line,
        units.map((unit, at) => ({ unit: unit!, partition: partitions[at]! })),
      );
      if (parts !== undefined) return this.#runParts(placing, parts);
    }
    const blocking = mayWait(row, line);
    const plan: CallPlan = {
      ...asked,
      name,
      lines: [line],
      effect: row?.kind === 'read' ? 'read' : 'write',
      blocking,
      timeoutMs: blocking && !asked.timeoutGiven ? Number.POSITIVE_INFINITY : asked.timeoutMs,
      silentMs: blocking ? heldMs(name, line) + this.#options.timeoutMs : undefined,
      // Keys of several partitions are brought together by whatever node is asked.
      partition,
      key: together && row?.kind === 'write' && !blocking ? keys[0] : undefined,
    };
    return this.#call(plan, trace);
  }

  /** Each part is retried by itself; when one fails the whole does, and says what the others did. */
  async #runParts({ name, row, asked, trace }: Placing, parts: readonly Part[]): Promise<Reply> {
    const effect = row?.kind === 'read' ? 'read' : 'write';
    for (const { line } of parts) refuseTooLarge(line);
    const calls = parts.map(({ partition, line }) =>
      this.#call(
        {
          ...asked,
          name,
          lines: [line],
          effect,
          blocking: false,
          partition,
          key: effect === 'write' ? line[1] : undefined,
        },
        trace,
      ),
    );
    const settled = await Promise.allSettled(calls);
    const failed = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (failed.length > 0) {
      throw effect === 'read' ? failed[0] : failureOfWrite(name, failed, parts.length);
    }
    return mergeReplies(
      name,
      settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
      parts,
    );
  }

  /** Throws, or rejects. */
  #call(plan: CallPlan, trace?: { attempts?: number }): Promise<Reply> {
    const { world } = this.#options;
    for (const line of plan.lines) refuseTooLarge(line);
    return new Promise((resolve, reject) => {
      new Call(world, plan, (result) => {
        if (trace !== undefined) trace.attempts = (trace.attempts ?? 0) + result.attempts;
        if (result.ok) resolve(result.reply);
        else reject(result.error);
      }).start();
    });
  }
}

const NO_PART: How = {};

/** A watched key may have changed before what an older state shows. */
function fresh(watched: NonNullable<How['watched']>): CallOptions {
  return { ...watched, consistency: 'linearizable' };
}
