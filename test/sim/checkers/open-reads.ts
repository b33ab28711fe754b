/**
 * Reads of all types are linearizable: each was answered from a state that the log had when it was
 * asked or later, and before it was answered. The witness shows the states one after the other.
 */
import { slotOfKey } from '../../../src/common/hash.ts';
import type { GroupId, LogIndex, Slot } from '../../../src/common/ids.ts';
import { keysOf, type ReadCommand } from '../../../src/datanode/commands/rows/command.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import type { Pacing } from '../../../src/datanode/encoding/steps/slices.ts';
import { ReadAhead } from '../../../src/datanode/encoding/txn/read-ahead.ts';
import { createView } from '../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../src/datanode/engine/engine.ts';
import { runRanges } from '../../../src/datanode/partition/turns/run-ranges.ts';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import type { Sent } from '../typed.ts';
import { Violation } from './checker.ts';

const UNHURRIED: Pacing = { isDue: () => false, pause: () => Promise.resolve() };

interface Slots {
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
}

/** The witness after some entry. */
export interface State {
  readonly engine: Engine;
  readonly slots: Slots;
  timeMs(): number;
}

interface Open {
  readonly sent: Sent;
  readonly from: LogIndex;
  readonly until: LogIndex;
  readonly possible: string[];
  found: boolean;
}

/** Their replies have random in them. */
const UNJUDGED = /^[hsz]rand/;

/** How a reply is held against a state. */
export interface Rule {
  /** Of the checker that objects. */
  readonly name: string;
  /** By the names of commands: what it judges. */
  isAbout(name: string): boolean;
  hold(sent: Sent, state: State): Promise<Held>;
}

interface Held {
  readonly agrees: boolean;
  /** What the state says, for the report. */
  readonly shown: string;
}

/** What tells of nothing but the state is answered as the state has it, to the byte. */
export const stateRule: Rule = {
  name: 'typed reads',
  isAbout: (name) => !UNJUDGED.test(name) && !tellsTimeLeft(name),
  async hold({ lines, reply }, state) {
    const own = await answer(lines[0]!, state);
    const name = resolveCommand(lines[0]!)!.name;
    const agrees = tellsIdle(name)
      ? agreeButForIdle(asSent(own), reply!)
      : encodeReply(own, 2).equals(encodeReply(reply!, 2));
    return { agrees, shown: textOf(own) };
  },
};

/** In the reply is the time that the leader had, beyond its log's. */
export function tellsTimeLeft(name: string): boolean {
  return /^(?:h?p?|zan\.)ttl$/.test(name);
}

/** And in these how long ago something was, by that time. */
function tellsIdle(name: string): boolean {
  return name === 'xpending' || name === 'xinfo|consumers';
}

function asSent(reply: Reply): Reply {
  return decodeReply(encodeReply(reply, 2));
}

/** Where XPENDING and XINFO CONSUMERS have such times: in items of four, and behind their names. */
function isIdle(items: readonly Reply[], at: number): boolean {
  const before = items[at - 1];
  if (before?.kind === 'bulk' && /^(?:idle|inactive)$/.test(before.bytes.toString())) return true;
  return at === 2 && items.length === 4 && items.every(({ kind }) => kind !== 'array');
}

/** The same, but that longer ago may have been told. */
function agreeButForIdle(own: Reply, told: Reply): boolean {
  if (own.kind !== 'array' || told.kind !== 'array') {
    return encodeReply(own, 2).equals(encodeReply(told, 2));
  }
  if (own.items.length !== told.items.length) return false;
  return own.items.every((item, at) => {
    const other = told.items[at]!;
    if (item.kind !== 'integer' || other.kind !== 'integer') return agreeButForIdle(item, other);
    if (!isIdle(own.items, at)) return item.value === other.value;
    return item.value === other.value || (item.value >= 0 && other.value >= item.value);
  });
}

/** Those of `sent` that one partition answered, and that `rule` is about. */
export function readsOf(
  sent: readonly Sent[],
  { firstSlot, lastSlot }: Slots,
  rule: Rule = stateRule,
): Sent[] {
  return sent.filter(({ lines, transaction, reply, refused }) => {
    if (transaction || refused || reply === undefined) return false;
    const line = lines[0]!;
    const command = resolveCommand(line);
    if (command?.kind !== 'read' || !rule.isAbout(command.name)) return false;
    const [key] = keysOf(command, line);
    if (key === undefined || !command.prepare(line).ok) return false;
    const slot = slotOfKey(key);
    return firstSlot <= slot && slot <= lastSlot;
  });
}

export class OpenReads {
  readonly #open: readonly Open[];
  readonly #rule: Rule;
  /** The first that may still come. */
  #first = 0;

  /** `times`: by index, when some replica had applied it. */
  constructor(reads: readonly Sent[], times: readonly number[], rule: Rule = stateRule) {
    this.#rule = rule;
    this.#open = reads
      .map((sent) => ({
        sent,
        // what had been applied before it was asked is what it must see
        from: times.findLastIndex((atMs) => atMs < sent.invokedMs),
        until: times.findLastIndex((atMs) => atMs <= sent.returnedMs),
        possible: [],
        found: false,
      }))
      .sort((a, b) => a.from - b.from);
  }

  /** Holds the reads of the time of `index` against the state there. */
  async judge(index: LogIndex, state: State): Promise<void> {
    while (this.#first < this.#open.length && this.#isDone(this.#open[this.#first]!, index)) {
      this.#first++;
    }
    for (let at = this.#first; at < this.#open.length; at++) {
      const open = this.#open[at]!;
      if (open.from > index) return;
      if (open.found || open.until < index) continue;
      const { agrees, shown } = await this.#rule.hold(open.sent, state);
      open.found = agrees;
      open.possible.push(`  ${index}: ${shown}`);
    }
  }

  /** Throws Violation when a read was answered from no state of its time. */
  end(group: GroupId): void {
    const open = this.#open.find(({ found }) => !found);
    if (open === undefined) return;
    const text = `group ${group}: ${shownRead(open.sent)}\nis no answer of that time:`;
    throw new Violation(this.#rule.name, `${text}\n${open.possible.join('\n')}`);
  }

  #isDone({ found, until }: Open, index: LogIndex): boolean {
    return found || until < index;
  }
}

export function shownRead({ client, lines, invokedMs, returnedMs, reply }: Sent): string {
  const times = `${invokedMs.toFixed(1)}–${returnedMs.toFixed(1)}`;
  return `${times} client${client} ${lines[0]!.map(String).join(' ')}: ${textOf(reply)}`;
}

/** What a read of the state answers by the time of its log. */
export async function answer(
  line: readonly Buffer[],
  { engine, slots, timeMs }: State,
): Promise<Reply> {
  const prepared = (resolveCommand(line) as ReadCommand).prepare(line);
  if (!prepared.ok) return prepared.reply;
  const context = { nowMs: timeMs(), random: () => 0, ...slots };
  const result = prepared.run(createView(engine), context);
  return 'kind' in result ? result : runRanges(result, new ReadAhead(engine), UNHURRIED);
}
