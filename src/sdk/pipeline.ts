/** Commands gathered first and sent together: a pipeline, and a transaction of one partition. */
import { parseCall } from './arguments.ts';
import { addCommandMethods } from './command-methods.ts';
import type { CallOptions } from './command-types.ts';
import type { Reply } from './connection.ts';
import { type ClientError, ownError, ReplyError } from './errors.ts';
import { decodeReply, type Value } from './replies.ts';
import type { QueuedLine, Runner } from './runner.ts';
import type { Gathering } from './typed-commands.ts';

interface Gathered {
  readonly name: string;
  readonly given: readonly unknown[];
  readonly bytes: boolean;
}

/** `[error, null]` or `[null, value]`, one for each command in order. */
export type PipelineResult = readonly [error: ClientError | null, value: Value | undefined];

/** Gathers commands until they are sent. */
class Gatherer {
  protected readonly runner: Runner;
  #gathered: Gathered[] = [];

  constructor(runner: Runner) {
    this.runner = runner;
  }

  /** Commands gathered. */
  get length(): number {
    return this.#gathered.length;
  }

  /** Adds any command by its name. */
  call(name: string, ...args: readonly unknown[]): this {
    this.#gathered.push({ name, given: args, bytes: false });
    return this;
  }

  /** As `call`, with bytes in place of texts. */
  callBuffer(name: string, ...args: readonly unknown[]): this {
    this.#gathered.push({ name, given: args, bytes: true });
    return this;
  }

  /** What was gathered; the next begins anew. */
  protected take(): readonly Gathered[] {
    const gathered = this.#gathered;
    this.#gathered = [];
    return gathered;
  }
}

/** The methods of the commands are added to the prototypes below. */
type With<Methods> = abstract new (runner: Runner) => Gatherer & Methods;

const PipelineMethods = Gatherer as unknown as With<Gathering<Pipeline>>;

/**
 * Commands that are sent in one turn, each to its partition, and retried each by itself. They are no
 * transaction: one may fail while others succeed. Made by `client.pipeline()`.
 */
export class Pipeline extends PipelineMethods {
  /** Sends what was gathered; never rejects: each command has its result, in order. */
  async exec(): Promise<PipelineResult[]> {
    const calls = this.take().map(({ name, given, bytes }) => this.runner.run(name, given, bytes));
    const settled = await Promise.allSettled(calls);
    return settled.map((one): PipelineResult => {
      return one.status === 'fulfilled' ? [null, one.value] : [one.reason, undefined];
    });
  }
}

addCommandMethods(Pipeline.prototype);

const TransactionMethods = Gatherer as unknown as With<Gathering<Transaction>>;

/**
 * Commands of one partition that take effect together or not at all; nothing of other clients comes
 * between them. Made by `client.multi()`.
 */
export class Transaction extends TransactionMethods {
  /**
   * Sends the transaction. Resolves with a result for each command in order; a command's own error
   * stands in its place, the others have taken effect. Rejects when nothing took effect (`EXECABORT`:
   * a command could not be queued, `cause` says why; `CROSSSLOT`: keys of several partitions), or with
   * `OUTCOME_UNKNOWN`.
   */
  async exec(options: CallOptions = {}): Promise<PipelineResult[]> {
    const gathered = this.take();
    if (gathered.length === 0) return [];
    const queued = gathered.map(({ name, given }) => queuedLine(name, given));
    const reply = await this.runner.transaction(queued, options);
    if (!Array.isArray(reply)) throw ownError('BAD_ARGUMENT', 'EXEC replied with no list');
    return (reply as readonly Reply[]).map((item, at): PipelineResult => {
      const { name, bytes } = gathered[at]!;
      if (item instanceof Error) return [new ReplyError(item.message), undefined];
      return [null, decodeReply(name.toLowerCase(), item, bytes)];
    });
  }
}

addCommandMethods(Transaction.prototype);

function queuedLine(name: string, given: readonly unknown[]): QueuedLine {
  const { line, options } = parseCall(name, given);
  if (Object.keys(options).length > 0) {
    throw ownError('BAD_ARGUMENT', `options of ${name} in a transaction: give them to exec()`);
  }
  return { name: name.toLowerCase(), line };
}
