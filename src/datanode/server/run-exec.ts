/**
 * EXEC, once all before it is answered: what its transaction has for a partition is one line there, and
 * commands of the node run behind that, with their places among its replies. But CLIENT KILLs run ahead
 * of it: who is killed is given nothing of what it stores.
 */
import { messageOf } from '../../common/errors.ts';
import type { NodeCommand } from '../commands/rows/command.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { EMPTY_ARRAY, error, type Reply } from '../resp/reply.ts';
import type { ExclusiveGround } from './exclusive.ts';
import { killsOf, type Queued, type QueuedOfNode } from './queued.ts';
import { completeExec, type ExecTarget } from './transaction.ts';
import type { WaitingRequest } from './waiting-requests.ts';

/** Redis's: what answers more than once, and how EXEC could not say. */
const deniedInExec: ReadonlyMap<string, Reply> = new Map([
  ['monitor', error("ERR MONITOR isn't allowed for DENY BLOCKING client")],
  ['ssubscribe', error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")],
]);

const CLIENT_GONE = error('ERR the client has gone; nothing more of its transaction is run');

/** Ends the request when the transaction is over. */
export function runExec(
  ground: ExclusiveGround,
  request: WaitingRequest,
  target: ExecTarget,
): void {
  new ExecRun(ground, request, target).begin();
}

class ExecRun {
  readonly #ground: ExclusiveGround;
  readonly #request: WaitingRequest;
  readonly #target: ExecTarget;
  readonly #arrivedMs: number;
  /** What commands of the node took, in microseconds, by their lines. */
  readonly #took = new Map<CommandLine, number>();
  #isLogged = false;

  constructor(ground: ExclusiveGround, request: WaitingRequest, target: ExecTarget) {
    this.#ground = ground;
    this.#request = request;
    this.#target = target;
    this.#arrivedMs = ground.clock.monotonicMs();
  }

  begin(): void {
    const { queue, one } = this.#target;
    if (one === undefined) return this.#finish(queue, EMPTY_ARRAY);
    // where a watch may be broken nobody is killed before that is known
    const kills = one.isWatched ? [] : killsOf(queue);
    if (kills.length === 0) return this.#propose(one, queue);
    void this.#runAhead(kills).then(
      (items) => (this.#isGone ? this.#end(CLIENT_GONE) : this.#propose(one, items)),
      (failure) => this.#end(this.#failed(failure)),
    );
  }

  get #isGone(): boolean {
    return this.#ground.gone().aborted;
  }

  /** The queue, with the replies of those that have run now. */
  async #runAhead(ahead: readonly QueuedOfNode[]): Promise<ExecTarget['queue']> {
    const replies = new Map<Queued, Reply>();
    for (const item of ahead) replies.set(item, await this.#run(item.command, item.args));
    return this.#target.queue.map((item) => {
      const reply = replies.get(item);
      return reply === undefined ? item : { name: item.name, kind: 'known', reply };
    });
  }

  #propose({ line, partition }: NonNullable<ExecTarget['one']>, items: ExecTarget['queue']): void {
    const { lanes, place } = this.#ground;
    lanes.push(place(partition), {
      slot: this.#request.slot,
      line,
      kind: 'write',
      bytes: lineBytes(line),
      arrivedMs: this.#arrivedMs,
      settle: (data) => this.#finish(items, data),
    });
    lanes.start();
  }

  /** `data`: what the partition answered. */
  #finish(items: ExecTarget['queue'], data: Reply): void {
    const { pushes, session, watch } = this.#ground;
    const run = (row: NodeCommand, line: CommandLine) => this.#run(row, line);
    pushes.hold();
    void completeExec(items, data, run, () => session.protocol)
      .then((reply) => {
        const times = { sinceMs: this.#arrivedMs, known: this.#took };
        this.#isLogged = watch.ran(session, this.#target.queue, times, reply);
        return reply;
      })
      .catch((failure) => this.#failed(failure))
      .then((reply) => this.#end(reply));
  }

  #run(row: NodeCommand, line: CommandLine): Reply | Promise<Reply> {
    // what it subscribes to once its subscriptions are ended, nobody would end
    if (this.#isGone) return CLIENT_GONE;
    return deniedInExec.get(row.name) ?? this.#timed(row, line);
  }

  #timed(row: NodeCommand, line: CommandLine): Reply | Promise<Reply> {
    const { clock } = this.#ground;
    const startedMs = clock.monotonicMs();
    const note = () => this.#took.set(line, (clock.monotonicMs() - startedMs) * 1_000);
    const reply = row.run(line, this.#ground.context());
    if (reply instanceof Promise) return reply.finally(note);
    note();
    return reply;
  }

  #failed(failure: unknown): Reply {
    const problem = messageOf(failure);
    this.#ground.logger.error('command failed', { command: 'exec', error: problem });
    return error(`ERR exec failed inside the server: ${problem}`);
  }

  #end(reply: Reply): void {
    const { watch, session, end } = this.#ground;
    const { args, slot } = this.#request;
    const { command } = this.#target;
    watch.answered(session, command, args, this.#arrivedMs, reply, { isLogged: this.#isLogged });
    end(slot, reply);
  }
}
