/**
 * One partition without raft: requests run through the command table on a memory engine as reads
 * and as log entries, one entry per write.
 */

import { seededRandom } from '../../../src/common/random.ts';
import { gatherRow } from '../../../src/datanode/commands/cluster/gather.ts';
import type { RunContext, RunResult } from '../../../src/datanode/commands/rows/command.ts';
import { findCommand, resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { expireKeys } from '../../../src/datanode/encoding/expiry/expiry.ts';
import type { Pacing, RangeSource } from '../../../src/datanode/encoding/steps/slices.ts';
import { ReadAhead } from '../../../src/datanode/encoding/txn/read-ahead.ts';
import { createView, Txn } from '../../../src/datanode/encoding/txn/txn.ts';
import type { KeyEvent } from '../../../src/datanode/encoding/txn/view.ts';
import type { Engine } from '../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import { orTooLarge, runReply } from '../../../src/datanode/partition/turns/run-ranges.ts';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { error, type Reply } from '../../../src/datanode/resp/reply.ts';
import { noteSent } from '../../sent-commands.ts';

/** Every step is followed by a pause. */
const ALWAYS_DUE: Pacing = { isDue: () => true, pause: () => Promise.resolve() };

export class LonePartition {
  readonly engine: Engine;
  /** Events of keys so far, of writes and of expiry. */
  readonly events: KeyEvent[] = [];
  nowMs: number;
  firstSlot = 0;
  lastSlot = 16_383;
  readonly #random = seededRandom('lone partition');
  /** Behind the entries that tests make collections with by hand. */
  #index = 1_000_000;

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
    const command = (found?.kind === 'node' ? resolveCommand(args) : found) ?? gatherRow(args);
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
      return runToReply(
        () => prepared.run(createView(this.engine), this.#context()),
        new ReadAhead(this.engine),
      );
    }
    const prepared = command.prepare(args);
    if (!prepared.ok) return prepared.reply;
    noteSent(row);
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    txn.recordEvents(true);
    const reply = await runToReply(() => prepared.run(txn, this.#context()), txn);
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
    const expired = step.value.keys;
    await this.engine.write(txn.operations());
    this.events.push(...txn.events);
    return expired;
  }

  #context(): RunContext {
    const { nowMs, firstSlot, lastSlot } = this;
    return { nowMs, firstSlot, lastSlot, random: () => this.#random.float() };
  }
}

async function runToReply(run: () => RunResult, source: RangeSource): Promise<Reply> {
  const result = orTooLarge(run);
  return unpacked('kind' in result ? result : await runReply(result, source, ALWAYS_DUE));
}

/** A reply that is encoded already, as the data that it was made of. */
function unpacked(reply: Reply): Reply {
  if (reply.kind === 'kept') return decodeReply(reply.resp3);
  if (reply.kind === 'either') return reply.resp3;
  if (reply.kind !== 'packed') return reply;
  const data = decodeReply(encodeReply(reply, 3));
  if (reply.shape !== 'pairs' || data.kind !== 'array') return data;
  const pairs = data.items.map((item) => (item.kind === 'array' ? item.items : []));
  return { kind: 'pairs', pairs: pairs.map(([first, second]) => [first!, second!] as const) };
}
