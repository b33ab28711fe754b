/** Commands gathered first and sent together: a pipeline, and transactions of one partition. */
import type { Clock } from '../common/clock.ts';
import { parseCall, parseExec, refuseArguments } from './arguments.ts';
import { addCommandMethods } from './command-methods.ts';
import type { CallOptions } from './command-types.ts';
import type { Reply } from './connection.ts';
import { type ClientError, ownError } from './errors.ts';
import type { QueuedLine } from './refusals.ts';
import { decodeReply, errorIn, type Value } from './replies.ts';
import type { Runner } from './runner.ts';
import { type BatchTrace, traceBatch } from './tracing.ts';
import type { Gathering } from './typed-commands.ts';

/** Commands that are handed on in one turn of the event loop: 40 ms of a busy machine. */
const TURN_MAX = 2_000;

/** A command as it was gathered. */
export interface Gathered {
  readonly name: string;
  readonly given: readonly unknown[];
  readonly bytes: boolean;
}

/** `[error, undefined]` or `[null, value]`, one for each command in order. */
export type PipelineResult = readonly [error: ClientError | null, value: Value | undefined];

/** Gathers commands until they are sent. */
class Gatherer {
  #gathered: Gathered[] = [];

  /** Commands gathered. */
  get length(): number {
    return this.#gathered.length;
  }

  /** Adds any command by its name. */
  call(name: string, ...args: readonly unknown[]): this {
    return Gatherer.add(this, name, args, false);
  }

  /** As `call`, with bytes in place of texts. */
  callBuffer(name: string, ...args: readonly unknown[]): this {
    return Gatherer.add(this, name, args, true);
  }

  /** Adds a command to `to`, and returns that. */
  static add<G extends Gatherer>(
    to: G,
    name: string,
    given: readonly unknown[],
    bytes: boolean,
  ): G {
    to.#gathered.push({ name, given, bytes });
    return to;
  }

  /** What was gathered; the next begins anew. */
  protected take(): readonly Gathered[] {
    const gathered = this.#gathered;
    this.#gathered = [];
    return gathered;
  }
}

/** The methods of the commands are added to the prototypes below. */
type With<Methods> = abstract new () => Gatherer & Methods;

const PipelineMethods = Gatherer as unknown as With<Gathering<Pipeline>>;

/**
 * Commands that are sent in one turn, each to its partition, and retried each by itself. They are no
 * transaction: one may fail while others succeed. Made by `client.pipeline()`.
 */
export class Pipeline extends PipelineMethods {
  readonly #runner: Runner;
  readonly #clock: Clock;

  /** Made by `client.pipeline()`. */
  constructor(runner: Runner, clock: Clock) {
    super();
    this.#runner = runner;
    this.#clock = clock;
  }

  /**
   * Sends what was gathered; never rejects (but with `BAD_ARGUMENT` for a callback): each command
   * has its result, in order. Their time limits
   * begin now. It may have more commands than the client's `maxQueued`: they are handed on as there
   * is room, and the time limit of a command that waited for room begins then. Behind each 2,000 of
   * them others get their turn: what is called after it may come before the rest.
   */
  async exec(...none: readonly never[]): Promise<PipelineResult[]> {
    refuseArguments('exec of a pipeline', none);
    const gathered = this.take();
    const { namespace } = this.#runner;
    const context = () => ({ kind: 'pipeline' as const, namespace, commands: gathered.length });
    return traceBatch(this.#clock, context, (trace) => this.#send(gathered, trace));
  }

  async #send(
    gathered: readonly Gathered[],
    trace: BatchTrace | undefined,
  ): Promise<PipelineResult[]> {
    const runner = this.#runner;
    const partitions = new Set<number | undefined>();
    const placed = trace && ((partition: number | undefined) => void partitions.add(partition));
    let askedMs: number | undefined = this.#clock.monotonicMs();
    const results = await runner.underWay(async () => {
      try {
        const ready = runner.ready();
        if (ready !== undefined) await ready;
      } catch (error) {
        return gathered.map(() => failed(error as ClientError));
      }
      const calls: Promise<PipelineResult>[] = [];
      let ofTurn = 0;
      for (const { name, given, bytes } of gathered) {
        if (ofTurn === TURN_MAX) await new Promise<void>((go) => this.#clock.endOfTurn(go));
        ofTurn = ofTurn === TURN_MAX ? 1 : ofTurn + 1;
        // Only when there is none: whoever waits gives up the order of the turn.
        while (runner.isCrowded) {
          await runner.room();
          askedMs = undefined;
        }
        const call = runner.run(name, given, bytes, { placed, inside: true, askedMs });
        calls.push(call.then(succeeded, failed));
      }
      return Promise.all(calls);
    });
    if (trace !== undefined) {
      trace.failed = results.filter(([error]) => error !== null).length;
      if (partitions.size === 1) [trace.partition] = partitions;
    }
    return results;
  }
}

const succeeded = (value: Value): PipelineResult => [null, value];
const failed = (error: ClientError): PipelineResult => [error, undefined];

addCommandMethods(Pipeline.prototype, Gatherer.add);

const TransactionMethods = Gatherer as unknown as With<Gathering<Transaction>>;

/**
 * Commands of one partition that take effect together or not at all; nothing of other clients comes
 * between them. Made by `client.multi()`.
 */
export class Transaction extends TransactionMethods {
  readonly #runner: Runner;

  /** Made by `client.multi()`. */
  constructor(runner: Runner) {
    super();
    this.#runner = runner;
  }

  /**
   * Sends the transaction. Resolves with a result for each command in order; a command's own error
   * stands in its place, the others have taken effect. Rejects when nothing took effect (`EXECABORT`:
   * a command could not be queued, `cause` says why; `CROSSSLOT`: keys of several partitions; `NOPERM`:
   * the user may not MULTI), or with `OUTCOME_UNKNOWN`.
   */
  async exec(options: CallOptions = {}): Promise<PipelineResult[]> {
    const checked = parseExec(options);
    const gathered = this.take();
    if (gathered.length === 0) return [];
    const queued = queuedLines(gathered);
    const { reply, partition } = await this.#runner.transaction(queued, checked);
    return resultsOf(gathered, reply, partition);
  }
}

addCommandMethods(Transaction.prototype, Gatherer.add);

const WatchedMethods = Gatherer as unknown as With<Gathering<WatchedTransaction>>;

/**
 * The transaction of a watch: commands with keys of the watched keys' partition. It has no `exec`:
 * the function given to `client.watch()` returns it. Made by `multi()` there.
 */
export class WatchedTransaction extends WatchedMethods {
  /** What one has gathered. */
  static gatheredIn(transaction: WatchedTransaction): readonly Gathered[] {
    return transaction.take();
  }
}

addCommandMethods(WatchedTransaction.prototype, Gatherer.add);

/** EXEC's array as results. */
export function resultsOf(
  gathered: readonly Gathered[],
  reply: Reply,
  partition: number | undefined,
): PipelineResult[] {
  if (!Array.isArray(reply)) throw ownError('BAD_ARGUMENT', 'EXEC replied with no list');
  return (reply as readonly Reply[]).map((item, at): PipelineResult => {
    const { name, bytes } = gathered[at]!;
    const error = errorIn(item, partition);
    return error ? [error, undefined] : [null, decodeReply(name.toLowerCase(), item, bytes)];
  });
}

/** Throws BAD_ARGUMENT. */
export function queuedLines(gathered: readonly Gathered[]): readonly QueuedLine[] {
  return gathered.map(({ name, given }) => {
    const { line, options } = parseCall(name, given);
    if (Object.keys(options).length > 0) {
      const text = `options of ${name} in a transaction: give them to the transaction`;
      throw ownError('BAD_ARGUMENT', text);
    }
    return { name: name.toLowerCase(), line };
  });
}
