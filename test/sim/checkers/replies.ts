/**
 * What clients were told of their writes is what the log gives, run once more by the witness: each
 * acknowledged write has an entry of its own with this very reply, applied between request and
 * answer; no write is in the log more often than clients sent it, and a refused one not at all. So it
 * is with clients that blocked: they were served within some entry, or nothing was taken for them.
 */
import { keysOf } from '../../../src/datanode/commands/rows/command.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { decodeExec } from '../../../src/datanode/commands/transactions/exec-line.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import { asksToWait, type Sent } from '../typed.ts';
import { Violation } from './checker.ts';
import type { Applied } from './witness.ts';

type Line = readonly Buffer[];

interface Entry extends Applied {
  taken: boolean;
}

/** Throws Violation. */
export function checkReplies(sent: readonly Sent[], applied: readonly Applied[]): void {
  const entries = new Map<string, Entry[]>();
  for (const one of applied) {
    const name = nameOfEntry(one.line);
    const same = entries.get(name) ?? [];
    entries.set(name, same);
    same.push({ ...one, taken: false });
  }
  const calls = new Map<string, Sent[]>();
  for (const call of sent) {
    if (!isLogged(call)) continue;
    const name = nameOf(call.lines, call.transaction);
    const same = calls.get(name) ?? [];
    calls.set(name, same);
    same.push(call);
  }
  for (const [name, same] of calls) matchAll(same, entries.get(name) ?? []);
}

/** Earliest answer first: whoever has the least choice chooses first. */
function matchAll(calls: readonly Sent[], entries: readonly Entry[]): void {
  const possible = calls.filter((call) => !call.refused && !endedUnserved(call));
  if (entries.length > possible.length) {
    const text = `${show(calls[0]!)} was sent ${possible.length} times, and not refused`;
    throw new Violation('replies', `${text}; the log has it ${entries.length} times`);
  }
  const answered = possible.filter(({ reply }) => reply !== undefined);
  for (const call of answered.sort((a, b) => a.returnedMs - b.returnedMs)) {
    const wanted = bytesOf(call.reply!);
    const entry = entries.find(
      ({ taken, reply, atMs }) =>
        !taken &&
        atMs >= call.invokedMs &&
        atMs <= call.returnedMs &&
        bytesOf(reply).equals(wanted),
    );
    if (entry === undefined) throw new Violation('replies', unmatched(call, entries));
    entry.taken = true;
  }
}

function unmatched(call: Sent, entries: readonly Entry[]): string {
  const times = `${call.invokedMs.toFixed(1)}–${call.returnedMs.toFixed(1)}`;
  const text = `${times} client${call.client} ${show(call)}: ${textOf(call.reply)}`;
  const those = entries.map(
    ({ atMs, reply, taken }) =>
      `  applied ${atMs.toFixed(1)}${taken ? ', of another' : ''}: ${textOf(reply)}`,
  );
  return `${text}\nis no entry's reply:\n${those.join('\n')}`;
}

function show({ lines }: Sent): string {
  return lines.map((line) => line.map((word) => word.toString()).join(' ')).join('; ');
}

/** One entry of one log: not a read, not refused by the node itself, not spread over partitions. */
function isLogged({ lines, transaction, reply }: Sent): boolean {
  if (transaction) return lines.length > 0;
  const line = lines[0]!;
  const command = resolveCommand(line);
  if (command?.kind !== 'write' || !command.prepare(line).ok) return false;
  return keysOf(command, line).length > 0 && !isCrossSlot(reply);
}

/** It blocked until time was up. */
function endedUnserved({ lines, transaction, reply }: Sent): boolean {
  if (transaction || (reply?.kind !== 'nullArray' && reply?.kind !== 'null')) return false;
  return asksToWait(lines[0]!);
}

function isCrossSlot(reply: Reply | undefined): boolean {
  return reply?.kind === 'error' && reply.text.startsWith('CROSSSLOT');
}

function nameOfEntry(line: Line): string {
  const isExec = line[0]!.toString().toLowerCase() === 'exec';
  return isExec ? nameOf(decodeExec(line) ?? [], true) : nameOf([line], false);
}

function nameOf(lines: readonly Line[], transaction: boolean): string {
  const words = lines.map((line) => line.map((word) => word.toString('latin1')).join('\0'));
  return `${transaction ? 'EXEC' : ''}\0\0${words.join('\0\0')}`;
}

function bytesOf(reply: Reply): Buffer {
  return encodeReply(reply, 2);
}
