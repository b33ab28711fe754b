/**
 * WATCH, in the memory of a partition's leader. A watch begins when its WATCH line is gathered, and
 * is over when its EXEC is in an entry: it gets there only if the same leadership still knows the
 * watch, nothing applied since has changed a watched key, and nothing before it in the log may: no
 * write, no client that is served by an entry; for scripts before it it waits. That is asked twice,
 * when EXEC comes and when its entry is made, since entries may be appended in between; then it
 * answers nil by the log. What is lost here (a new leader, too many watches, see `watch-book.ts`)
 * answers nil: the client tries again, and nothing was overwritten.
 *
 * A key that had expired when it was watched was absent for every command: deleting its record is
 * no change, as in Redis. That is known only of a watch that began with nothing on its way.
 */
import { assert } from '../../../common/assert.ts';
import { errorTable } from '../../../common/errors.ts';
import type { LogIndex, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { carriedOut, keysOf } from '../../commands/rows/command.ts';
import { carrying } from '../../commands/sessions/once.ts';
import { CARRIED_AT } from '../../commands/sessions/once-line.ts';
import { scriptsIn } from '../../commands/table/runs-anything.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import {
  BROKEN_EXEC,
  decodeExec,
  type Watched,
  watchedOf,
} from '../../commands/transactions/exec-line.ts';
import { encodeKey } from '../../encoding/records/key.ts';
import { observableName } from '../../encoding/records/key-name.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';
import type { Change } from '../../encoding/txn/overlay.ts';
import type { View } from '../../encoding/txn/view.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import { error, NULL_ARRAY } from '../../resp/reply.ts';
import type { CommandBatch, CommandLine, LineResult } from '../entries/batch.ts';
import { failAll } from '../entries/failed-batch.ts';
import { ScriptOrder } from './script-order.ts';
import { type Watch, WatchBook } from './watch-book.ts';
import { lookAtWatched } from './watched-record.ts';

export interface WatchGround {
  view(): View;
  /** The group's time, as reads judge by it. */
  nowMs(): number;
  /** The newest time at which reads have run beside fields that were due. */
  besideDueMs(): number;
  term(): Term;
  appliedIndex(): LogIndex;
  /** Nothing is gathered, appended or being applied: the view shows all there is. */
  settled(): boolean;
  /** Takes writes on, in the order of the calls. */
  gather(batch: CommandBatch): Promise<readonly LineResult[]>;
}

/** Names of user keys (latin1) that clients served before a line of an entry may change. */
export type ServedBefore = (before: readonly CommandLine[]) => ReadonlySet<string>;

const OUTGROWN = error(
  `EXECABORT Transaction discarded because more than ${limits.watchKeysMax} keys, or more than ` +
    `${limits.watchBytesMax} bytes of them, are watched`,
);

const NIL = encodeReply(NULL_ARRAY, 2);

export class Watches {
  readonly #ground: WatchGround;
  readonly #book = new WatchBook();
  readonly #order = new ScriptOrder();
  /** EXECs with a watch that were gathered and have no answer. */
  #gathered = 0;

  constructor(ground: WatchGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#book.count;
  }

  /** That they take in memory, near enough. */
  get bytes(): number {
    return this.#book.bytes;
  }

  /**
   * Takes a batch of writes on. An EXEC is a batch of its own; one whose watch is broken is answered
   * here and goes nowhere. Under a session it may be asked for again, having been carried out: the
   * log tells.
   */
  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    const first = batch.lines[0]!;
    assert(batch.lines.length === 1 || !batch.lines.some(execWithin), 'an EXEC comes alone');
    const exec = execWithin(first);
    const watched = exec && watchedOf(exec);
    if (exec === undefined || watched === undefined || watched.token === '') {
      return this.#take(batch);
    }
    const watch = this.#book.find(watched.token);
    if (watch !== undefined && this.#isIntact(watch, watched)) {
      if (!this.#order.isBusy) return this.#takeExec(batch, watch);
      return this.#order.isFull ? tooMany(batch) : this.#order.exec(() => this.gather(batch));
    }
    if (watch !== undefined && !watch.leaving) this.#book.remove(watch);
    const broken = watch?.outgrown === true ? OUTGROWN : NULL_ARRAY;
    if (exec === first && batch.once === undefined) {
      return Promise.resolve([{ ok: true, reply: broken }]);
    }
    const lines = [exec === first ? BROKEN_EXEC : carrying(first, BROKEN_EXEC)];
    const results = this.#take({ ...batch, lines });
    return broken === OUTGROWN ? results.then((told) => told.map(outgrownIfNil)) : results;
  }

  /**
   * The lines of an entry that is made now, with the time `timeMs`, as they go into the log: an EXEC
   * whose watch was broken since it came, or by that time, answers nil there.
   */
  leave(
    lines: readonly CommandLine[],
    timeMs: number,
    served: ServedBefore,
  ): readonly CommandLine[] {
    if (this.#gathered === 0) return lines;
    return lines.map((line, at) => {
      const exec = execWithin(line);
      const token = exec && watchedOf(exec).token;
      if (exec === undefined || token === '') return line;
      if (this.#mayLeave(token!, timeMs, () => served(lines.slice(0, at)))) return line;
      return exec === line ? BROKEN_EXEC : carrying(line, BROKEN_EXEC);
    });
  }

  /** The entry at `index` is appended; clients it serves may change `keys` (user keys as latin1). */
  onServing(index: LogIndex, keys: Iterable<string>): void {
    for (const key of keys) {
      for (const watch of this.#book.watching(nameOf(key))) watch.servedUpTo = index;
    }
  }

  /** Leadership is gone, and in no later term does any of them hold. */
  stepDown(): void {
    this.#book.clear();
    this.#order.release();
  }

  #takeExec(batch: CommandBatch, watch: Watch): Promise<readonly LineResult[]> {
    watch.leaving = true;
    this.#gathered++;
    // those that were to wait for it come behind it, its own scripts with it
    const isScript = batch.lines.some((line) => scriptsIn(line) > 0);
    const results = isScript
      ? this.#order.begin(() => this.#takeScripts(batch))
      : this.#takeOn(batch);
    const answered = () => {
      this.#gathered--;
      this.#book.remove(watch);
    };
    results.then(answered, answered);
    return results;
  }

  #take(batch: CommandBatch): Promise<readonly LineResult[]> {
    if (!batch.lines.some((line) => scriptsIn(line) > 0)) return this.#takeOn(batch);
    return this.#order.isFull ? tooMany(batch) : this.#order.script(() => this.#takeScripts(batch));
  }

  /** Of those nobody can tell what became of, anything may have come. */
  #takeScripts(batch: CommandBatch): Promise<readonly LineResult[]> {
    const results = this.#takeOn(batch);
    const touchAll = () => {
      for (const watch of this.#book.all()) watch.touched = true;
    };
    return results.then(
      (lines) => {
        if (lines.some(isUnknown)) touchAll();
        return lines;
      },
      (failure) => {
        touchAll();
        throw failure;
      },
    );
  }

  #takeOn(batch: CommandBatch): Promise<readonly LineResult[]> {
    const { lines } = batch;
    const begins = lines.some(isWatch);
    const settled = begins && this.#ground.settled();
    const results = this.#ground.gather(batch);
    if (begins || this.#book.count > 0) this.#notice(lines, settled, results);
    return results;
  }

  /**
   * What an applied batch changed in the engine, all in all. `served`: commands that had waited ran
   * in it as well, so what is gone in the end may have been there in between.
   */
  onChanged(changed: ChangeSet, served: boolean): void {
    if (this.#book.count === 0) return;
    if (changed.elements !== undefined) return this.#onManyChanged(changed, served);
    for (const change of changed.all()) {
      const name = observableName(change.key);
      if (name !== undefined) touch(this.#book.watching(name), change, served);
    }
  }

  /** Asks about what is watched, instead of looking at all changes in one turn. */
  #onManyChanged(changed: ChangeSet, served: boolean): void {
    for (const [name, watching] of this.#book.names()) {
      if (changed.elements!.has(name)) for (const watch of watching) watch.touched = true;
      const change = changed.get(name);
      if (change !== undefined) touch(watching, change, served);
    }
  }

  /** The partition is about to be emptied. */
  onClear(): void {
    const view = this.#ground.view();
    for (const watch of this.#book.all()) {
      for (const name of watch.keys.keys()) {
        if (view.get(placeOf(name)) !== undefined && !forgives(watch, name)) watch.touched = true;
      }
    }
  }

  #notice(
    lines: readonly CommandLine[],
    settledBefore: boolean,
    results: Promise<readonly LineResult[]>,
  ): void {
    const touched = new Set<Watch>();
    let settled = settledBefore;
    for (const line of lines) {
      if (isWatch(line)) {
        this.#register(line, settled);
        continue;
      }
      settled = false;
      this.#find(line, touched);
    }
    if (touched.size > 0) countInFlight(touched, results);
  }

  /** Of an EXEC that has just come. */
  #isIntact(watch: Watch, { calls }: Watched): boolean {
    if (watch.leaving || watch.inFlight > 0 || watch.calls !== calls) return false;
    return !this.#isBroken(watch, this.#ground.nowMs());
  }

  /** The same once its entry is made: all that was gathered before it is in the log, or in `served`. */
  #mayLeave(token: string, timeMs: number, served: () => ReadonlySet<string>): boolean {
    const watch = this.#book.find(token);
    if (watch === undefined || !watch.leaving) return false;
    const isBroken = this.#isBroken(watch, timeMs) || isAmong(watch, served());
    this.#book.remove(watch);
    return !isBroken;
  }

  #isBroken(watch: Watch, nowMs: number): boolean {
    if (watch.touched || watch.outgrown || watch.term !== this.#ground.term()) return true;
    if (watch.hidesMs <= this.#ground.besideDueMs()) return true;
    return watch.servedUpTo > this.#ground.appliedIndex() || watch.breaksMs <= nowMs;
  }

  #register([, token, ...keys]: CommandLine, settled: boolean): void {
    const watch = this.#book.open(token!.toString('latin1'), this.#ground.term());
    watch.calls++;
    const view = this.#ground.view();
    const nowMs = this.#ground.nowMs();
    for (const key of keys) {
      if (watch.outgrown) break;
      const place = encodeKey(key);
      const name = observableName(place)!;
      if (watch.keys.has(name)) continue;
      const { expired, breaksMs, hides, elements } = lookAtWatched(view, key, place, nowMs);
      const stale = expired && settled;
      watch.breaksMs = Math.min(watch.breaksMs, breaksMs);
      if (hides) watch.hidesMs = Math.min(watch.hidesMs, nowMs);
      // whoever writes to a stale one again does so under another version
      this.#book.add(watch, { name, stale }, stale ? undefined : elements);
    }
    this.#book.trim();
  }

  /** The watches whose keys `line` names. */
  #find(request: CommandLine, found: Set<Watch>): void {
    const exec = execWithin(request);
    if (exec !== undefined) {
      for (const inner of decodeExec(exec) ?? []) this.#find(inner, found);
      return;
    }
    const row = resolveCommand(request);
    if (row?.kind !== 'write') return;
    const { command, line } = carriedOut(row, request);
    // of what a script changes it is known when it is applied: see ScriptOrder
    if (command.kind !== 'write' || command.runsAnything === true) return;
    if (command.empties === true) for (const watch of this.#book.all()) found.add(watch);
    const deletes = command.name === 'del' || command.name === 'unlink';
    for (const key of keysOf(command, line)) {
      const name = observableName(encodeKey(key))!;
      for (const watch of this.#book.watching(name)) {
        // what comes behind its EXEC is none of its business, nor is what that does itself
        if (watch.leaving) continue;
        found.add(watch);
        // it may be gone again in the end, but not unseen
        if (!deletes && watch.keys.get(name)?.stale === true) watch.touched = true;
      }
    }
  }
}

/** The log has it that this has not been carried out; why it never will be is known here alone. */
function outgrownIfNil(result: LineResult): LineResult {
  if (!result.ok || !encodeReply(result.reply, 2).equals(NIL)) return result;
  return { ...result, reply: OUTGROWN };
}

/** Their key's record, or an element of it, was changed. */
function touch(watching: Iterable<Watch>, { key, after }: Change, served: boolean): void {
  for (const watch of watching) {
    const isForgiven = after === undefined && !served && forgives(watch, key.toString('latin1'));
    if (!isForgiven) watch.touched = true;
  }
}

/** That the record of this name is gone is no change to this watch; the next one will be. */
function forgives({ keys }: Watch, name: string): boolean {
  const key = keys.get(name);
  if (key?.stale !== true) return false;
  key.stale = false;
  return true;
}

/** An EXEC, by itself or under a session. */
function execWithin(line: CommandLine): CommandLine | undefined {
  if (isNamed(line, 'exec')) return line;
  return isNamed(line, 'kv.once') ? execWithin(line.slice(CARRIED_AT)) : undefined;
}

/** The first letter spares other lines the comparison. */
function isNamed(line: CommandLine, name: 'exec' | 'watch' | 'kv.once'): boolean {
  const word = line[0]!;
  if (word.length !== name.length || (word[0]! | 0x20) !== name.charCodeAt(0)) return false;
  return word.toString('latin1').toLowerCase() === name;
}

function isWatch(line: CommandLine): boolean {
  return isNamed(line, 'watch');
}

/** What may take effect yet, though nobody waits for it any more, is never over. */
function countInFlight(watches: ReadonlySet<Watch>, results: Promise<readonly LineResult[]>): void {
  for (const watch of watches) watch.inFlight++;
  const settled = (isUnknown: boolean) => {
    for (const watch of watches) {
      watch.inFlight--;
      if (isUnknown) watch.touched = true;
    }
  };
  results.then(
    (lines) => settled(lines.some(isUnknown)),
    () => settled(true),
  );
}

function isUnknown(line: LineResult): boolean {
  return !line.ok && errorTable[line.code].outcome === 'unknown';
}

function tooMany(batch: CommandBatch): Promise<readonly LineResult[]> {
  const { proposalsPerPartitionMax } = limits;
  return Promise.resolve(
    failAll(batch, 'BUSY', `more than ${proposalsPerPartitionMax} scripts and transactions wait`),
  );
}

/** Of a user key's record, as changes name it. */
function nameOf(key: string): string {
  return observableName(encodeKey(Buffer.from(key, 'latin1')))!;
}

/** The engine's key of that name. */
function placeOf(name: string): Buffer {
  return Buffer.from(name, 'latin1');
}

function isAmong({ keys }: Watch, served: ReadonlySet<string>): boolean {
  for (const key of served) if (keys.has(nameOf(key))) return true;
  return false;
}
