/**
 * One partition without raft: requests run through the command table on a memory engine as reads
 * and as log entries, one entry per write.
 */
import { seededRandom } from '../../../src/common/random.ts';
import type { RunContext, RunResult } from '../../../src/datanode/commands/command.ts';
import { findCommand, resolveCommand } from '../../../src/datanode/commands/table.ts';
import { expireKeys } from '../../../src/datanode/encoding/expiry.ts';
import { createView, readRange, Txn } from '../../../src/datanode/encoding/txn.ts';
import type { KeyEvent } from '../../../src/datanode/encoding/view.ts';
import type { Engine, KeyRange, KeyValue } from '../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import { error, type Reply } from '../../../src/datanode/resp/reply.ts';
import { noteSent } from '../../sent-commands.ts';

export class LonePartition {
  readonly engine: Engine;
  /** Events of keys so far, of writes and of expiry. */
  readonly events: KeyEvent[] = [];
  nowMs: number;
  firstSlot = 0;
  lastSlot = 16_383;
  readonly #random = seededRandom('lone partition');
  #index = 0;

  constructor(engine: Engine, nowMs = 1_700_000_000_000) {
    this.engine = engine;
    this.nowMs = nowMs;
  }

  static async open(): Promise<LonePartition> {
    const { engine } = await createMemoryHost().open('1-0');
    return new LonePartition(engine);
  }

  async call(...words: (string | Buffer)[]): Promise<Reply> {
    const args = words.map((text) => (typeof text === 'string' ? Buffer.from(text) : text));
    const found = findCommand(args[0]!);
    const command = found?.kind === 'node' ? resolveCommand(args) : found;
    if (command === undefined || command.kind === 'node') throw new Error(`no row: ${words[0]}`);
    const wrongCount =
      command.arity >= 0 ? args.length !== command.arity : args.length < -command.arity;
    // the log's form of EXEC carries its commands
    if (wrongCount && command.name !== 'exec')
      return error(`ERR wrong number of arguments for '${command.name}' command`);
    const row = resolveCommand(args)?.name ?? command.name;
    if (command.kind === 'read') {
      const prepared = command.prepare(args);
      if (!prepared.ok) return prepared.reply;
      noteSent(row);
      return runToReply(prepared.run(createView(this.engine), this.#context()), (range) =>
        readRange(this.engine, range),
      );
    }
    const prepared = command.prepare(args);
    if (!prepared.ok) return prepared.reply;
    noteSent(row);
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    txn.recordEvents(true);
    txn.beginCommand();
    const reply = await runToReply(prepared.run(txn, this.#context()), (range) => txn.range(range));
    await this.engine.write(txn.operations());
    this.events.push(...txn.events);
    return reply;
  }

  /** As the leader's expiry entry does. */
  async expire(...keys: readonly string[]): Promise<number> {
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    txn.recordEvents(true);
    const due = keys.map((key) => ({ key: Buffer.from(key), deadlineMs: 0 }));
    const run = expireKeys(txn, due, this.nowMs);
    let step = run.next();
    while (!step.done) step = run.next(await txn.range(step.value));
    const expired = step.value;
    await this.engine.write(txn.operations());
    this.events.push(...txn.events);
    return expired;
  }

  #context(): RunContext {
    const { nowMs, firstSlot, lastSlot } = this;
    return { nowMs, firstSlot, lastSlot, random: () => this.#random.float() };
  }
}

async function runToReply(
  result: RunResult,
  range: (range: KeyRange) => Promise<readonly KeyValue[]>,
): Promise<Reply> {
  if ('kind' in result) return result;
  let step = result.next();
  while (!step.done) step = result.next(await range(step.value));
  return step.value;
}
