/**
 * From what a caller asks to calls of partitions and back: finds keys and partitions, splits what
 * spans several, and puts replies together.
 */
import { slotOfKey } from '../common/hash.ts';
import type { PartitionId } from '../common/ids.ts';
import { type ParsedCall, parseCall } from './arguments.ts';
import { Call, type CallPlan, type CallResult, type CallWorld } from './call.ts';
import type { CallOptions, Consistency } from './command-types.ts';
import type { Argument, Reply } from './connection.ts';
import { ownError } from './errors.ts';
import { bytesOf, type CommandRow, keyPositions, rowsByName } from './key-places.ts';
import { decodeReply, type Value } from './replies.ts';
import { mergeReplies, type Part, splitLine } from './split.ts';
import type { PartitionTable } from './table.ts';
import { type CommandTrace, traceCommand } from './tracing.ts';

export interface RunnerOptions {
  readonly world: CallWorld;
  readonly namespace: string | undefined;
  readonly timeoutMs: number;
  readonly consistency: Consistency;
  /** Throws once the client is closed; otherwise makes sure that it looks for the table. */
  begin(): void;
  /** Resolves with the first table; rejects when the client is closed, or `timeoutMs` have passed. */
  whenTable(timeoutMs: number, signal: AbortSignal | undefined): Promise<PartitionTable>;
}

/** The options of a call with the client's own filled in. */
interface Asked {
  readonly askedMs: number;
  readonly timeoutMs: number;
  readonly timeoutGiven: boolean;
  readonly signal: AbortSignal | undefined;
  readonly consistency: Consistency;
}

/** What a transaction queues. */
export interface QueuedLine {
  readonly name: string;
  readonly line: readonly Argument[];
}

export class Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** `bytes`: strings of the reply stay bytes. */
  async run(name: string, given: readonly unknown[], bytes: boolean): Promise<Value> {
    const lower = name.toLowerCase();
    const parsed = parseCall(name, given);
    const row = rowsByName.get(lower);
    refuseConnectionCommand(lower, parsed.line, row);
    this.#options.begin();
    const context = (): CommandTrace => ({
      command: lower,
      arguments: parsed.line.length - 1,
      namespace: this.#options.namespace,
    });
    const reply = await traceCommand(context, (trace) => {
      const { lookup } = this.#options.world;
      const asked = this.#asked(parsed.options);
      if (lookup.table) return this.#place(lower, row, parsed, asked, lookup.table, trace);
      return this.#options
        .whenTable(asked.timeoutMs, asked.signal)
        .then((table) => this.#place(lower, row, parsed, asked, table, trace));
    });
    return decodeReply(lower, reply, bytes);
  }

  /** EXEC's array, or null when a watched key has changed; every key must be of one partition. */
  async transaction(queued: readonly QueuedLine[], options: CallOptions): Promise<Reply> {
    this.#options.begin();
    const { lookup } = this.#options.world;
    const asked = this.#asked(options);
    const table = lookup.table ?? (await this.#options.whenTable(asked.timeoutMs, asked.signal));
    const keys = queued.flatMap(({ name, line }) => keysOf(rowsByName.get(name), line));
    const partitions = new Set(keys.map((key) => table.partitionOf(bytesOf(key))));
    if (partitions.size > 1) {
      throw ownError(
        'CROSSSLOT',
        'the keys of a transaction must be of one partition: give them a common {tag}',
      );
    }
    const [partition] = partitions;
    return this.#call({
      ...asked,
      name: 'exec',
      lines: [['MULTI'], ...queued.map(({ line }) => line), ['EXEC']],
      effect: 'write',
      blocking: false,
      partition,
      key: keys[0],
    });
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

  #asked({ signal, timeoutMs, consistency }: CallOptions): Asked {
    const { world } = this.#options;
    return {
      askedMs: world.clock.monotonicMs(),
      timeoutMs: timeoutMs ?? this.#options.timeoutMs,
      timeoutGiven: timeoutMs !== undefined,
      signal,
      consistency: consistency ?? this.#options.consistency,
    };
  }

  #place(
    name: string,
    row: CommandRow | undefined,
    { line }: ParsedCall,
    asked: Asked,
    table: PartitionTable,
    trace: CommandTrace | undefined,
  ): Promise<Reply> {
    const keys = keysOf(row, line);
    const partitions = keys.map((key) => table.partitionOf(bytesOf(key)));
    const [first] = partitions;
    const together = partitions.every((one) => one === first);
    const units = table.slotsApart ? keys.map((key) => slotOfKey(bytesOf(key))) : partitions;
    if (units.some((one) => one !== units[0])) {
      const parts = splitLine(name, line, partitions as PartitionId[], units as number[]);
      if (parts !== undefined) return this.#runParts(name, row, parts, asked, trace);
    }
    const blocking = row?.kind === 'blocking';
    const plan: CallPlan = {
      ...asked,
      name,
      lines: [line],
      effect: row?.kind === 'read' ? 'read' : 'write',
      blocking,
      timeoutMs: blocking && !asked.timeoutGiven ? Number.POSITIVE_INFINITY : asked.timeoutMs,
      // Keys of several partitions are brought together by whatever node is asked.
      partition: together ? first : undefined,
      key: together && row?.kind === 'write' ? keys[0] : undefined,
    };
    return this.#call(plan, trace);
  }

  /** Each part is retried by itself; when one fails the whole does, whatever the others did. */
  async #runParts(
    name: string,
    row: CommandRow | undefined,
    parts: readonly Part[],
    asked: Asked,
    trace: CommandTrace | undefined,
  ): Promise<Reply> {
    const effect = row?.kind === 'read' ? 'read' : 'write';
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
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return mergeReplies(
      name,
      settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
      parts,
    );
  }

  #call(plan: CallPlan, trace?: CommandTrace): Promise<Reply> {
    const { world } = this.#options;
    return new Promise((resolve, reject) => {
      new Call(world, plan, (result) => {
        if (trace !== undefined) trace.attempts = (trace.attempts ?? 0) + result.attempts;
        if (result.ok) resolve(result.reply);
        else reject(result.error);
      }).start();
    });
  }
}

function keysOf(row: CommandRow | undefined, line: readonly Argument[]): readonly Argument[] {
  return row === undefined ? [] : keyPositions(row, line).map((at) => line[at]!);
}

const instead: Readonly<Record<string, string>> = {
  multi: 'multi()',
  exec: 'multi().exec()',
  discard: 'multi()',
  subscribe: 'subscriber()',
  psubscribe: 'subscriber()',
  ssubscribe: 'subscriber()',
  unsubscribe: 'subscriber()',
  punsubscribe: 'subscriber()',
  sunsubscribe: 'subscriber()',
  select: 'a client of its own for each namespace',
  auth: 'the options username and password',
  quit: 'close()',
};

/** Connections are shared by all calls: none may change one. */
function refuseConnectionCommand(
  name: string,
  line: readonly Argument[],
  row: CommandRow | undefined,
): void {
  const reply = name === 'client' && /^(?:reply|tracking)$/i.test(String(line[1]));
  if (row?.kind !== 'connection' && !reply) return;
  const use = instead[name];
  throw ownError(
    'BAD_ARGUMENT',
    `${name} changes the connection it comes over, and calls share theirs` +
      (use === undefined ? '' : `; use ${use}`),
  );
}
