/**
 * WATCH, in the memory of a partition's leader. A watch begins when its WATCH line is gathered, and
 * is over when its EXEC is in an entry: it gets there only if the same leadership still knows the
 * watch, nothing applied since has changed a watched key, and nothing before it in the log may: no
 * write, no client that is served by an entry. That is asked twice, when EXEC comes and when its entry
 * is made, since entries may be appended in between; then it answers nil by the log. What is lost here
 * (a new leader, too many watches) answers nil: the client tries again, and nothing was overwritten.
 *
 * A key that had expired when it was watched was absent for every command: deleting its record is
 * no change, as in Redis. That is known only of a watch that began with nothing on its way.
 */
import { assert } from '../../common/assert.ts';
import { errorTable } from '../../common/errors.ts';
import type { LogIndex, Term } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { carriedOut, keysOf } from '../commands/command.ts';
import { BROKEN_EXEC, decodeExec, type Watched, watchedOf } from '../commands/exec-line.ts';
import { CARRIED_AT, carrying } from '../commands/once.ts';
import { resolveCommand } from '../commands/table.ts';
import { decodeCollection, decodeHeader } from '../encoding/header.ts';
import { encodeKey } from '../encoding/key.ts';
import { elementsName, observableName } from '../encoding/key-name.ts';
import { fieldsDueMsOf, isExpired } from '../encoding/keyspace.ts';
import type { Change, ChangeSet } from '../encoding/txn.ts';
import type { View } from '../encoding/view.ts';
import { NULL_ARRAY } from '../resp/reply.ts';
import type { CommandBatch, CommandLine, LineResult } from './batch.ts';

export interface WatchGround {
  view(): View;
  /** The group's time, as reads judge by it. */
  nowMs(): number;
  term(): Term;
  appliedIndex(): LogIndex;
  /** Nothing is gathered, appended or being applied: the view shows all there is. */
  settled(): boolean;
  /** Takes writes on, in the order of the calls. */
  gather(batch: CommandBatch): Promise<readonly LineResult[]>;
}

/** What is gone of a key by its deadlines: nothing, some of a hash's fields, all of it. */
type Expired = 'nothing' | 'fields' | 'all';

interface WatchedKey {
  /** Its record's key in the engine. */
  readonly place: Buffer;
  /** What of it had expired when it was watched: that it has is no news. */
  readonly expired: Expired;
  /** And its record is still there for all anybody knows: that it goes is no news either. */
  stale: boolean;
}

interface Watch {
  readonly token: string;
  readonly term: Term;
  readonly keys: WatchedKey[];
  readonly names: string[];
  calls: number;
  /** Batches on their way that may change a watched key. */
  inFlight: number;
  /** Clients that entries up to this one serve may change a watched key. */
  servedUpTo: LogIndex;
  touched: boolean;
  /** Its EXEC is gathered, and not in an entry yet. */
  leaving: boolean;
}

/** Names of user keys (latin1) that clients served before a line of an entry may change. */
export type ServedBefore = (before: readonly CommandLine[]) => ReadonlySet<string>;

export class Watches {
  readonly #ground: WatchGround;
  /** The oldest first. */
  readonly #byToken = new Map<string, Watch>();
  readonly #byName = new Map<string, Set<Watch>>();
  /** EXECs with a watch that were gathered and have no answer. */
  #gathered = 0;

  constructor(ground: WatchGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#byToken.size;
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
    const watch = this.#intact(watched);
    if (watch !== undefined) return this.#takeExec(batch, watch);
    if (exec !== first) return this.#take({ ...batch, lines: [carrying(first, BROKEN_EXEC)] });
    if (batch.once !== undefined) return this.#take({ ...batch, lines: [BROKEN_EXEC] });
    return Promise.resolve([{ ok: true, reply: NULL_ARRAY }]);
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
      for (const watch of this.#byName.get(nameOf(key)) ?? []) watch.servedUpTo = index;
    }
  }

  #takeExec(batch: CommandBatch, watch: Watch): Promise<readonly LineResult[]> {
    watch.leaving = true;
    this.#gathered++;
    const results = this.#take(batch);
    const answered = () => {
      this.#gathered--;
      this.#remove(watch);
    };
    results.then(answered, answered);
    return results;
  }

  #take(batch: CommandBatch): Promise<readonly LineResult[]> {
    const { lines } = batch;
    const begins = lines.some(isWatch);
    const settled = begins && this.#ground.settled();
    const results = this.#ground.gather(batch);
    if (begins || this.#byToken.size > 0) this.#notice(lines, settled, results);
    return results;
  }

  /**
   * What an applied batch changed in the engine, all in all. `served`: commands that had waited ran
   * in it as well, so what is gone in the end may have been there in between.
   */
  onChanged(changed: ChangeSet, served: boolean): void {
    if (this.#byToken.size === 0) return;
    if (changed.elements !== undefined) return this.#onManyChanged(changed, served);
    for (const change of changed.all()) {
      const name = observableName(change.key);
      const watching = name === undefined ? undefined : this.#byName.get(name);
      if (watching !== undefined) touch(watching, change, served);
    }
  }

  /** Asks about what is watched, instead of looking at all changes in one turn. */
  #onManyChanged(changed: ChangeSet, served: boolean): void {
    for (const [name, watching] of this.#byName) {
      if (changed.elements!.has(name)) for (const watch of watching) watch.touched = true;
      const change = changed.get(name);
      if (change !== undefined) touch(watching, change, served);
    }
  }

  /** The partition is about to be emptied. */
  onClear(): void {
    const view = this.#ground.view();
    for (const watch of this.#byToken.values()) {
      for (const { place } of watch.keys) {
        if (view.get(place) !== undefined && !forgives(watch, place)) watch.touched = true;
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

  /** The watch of an EXEC that has just come; undefined, and forgotten, when it is broken. */
  #intact({ token, calls }: Watched): Watch | undefined {
    const watch = this.#byToken.get(token);
    if (watch === undefined || watch.leaving) return undefined;
    const isIntact = watch.inFlight === 0 && watch.calls === calls;
    if (isIntact && !this.#isBroken(watch, this.#ground.nowMs())) return watch;
    this.#remove(watch);
    return undefined;
  }

  /** The same once its entry is made: all that was gathered before it is in the log, or in `served`. */
  #mayLeave(token: string, timeMs: number, served: () => ReadonlySet<string>): boolean {
    const watch = this.#byToken.get(token);
    if (watch === undefined || !watch.leaving) return false;
    this.#remove(watch);
    if (this.#isBroken(watch, timeMs)) return false;
    for (const key of served()) if (watch.names.includes(nameOf(key))) return false;
    return true;
  }

  #isBroken(watch: Watch, nowMs: number): boolean {
    if (watch.touched || watch.term !== this.#ground.term()) return true;
    return watch.servedUpTo > this.#ground.appliedIndex() || this.#hasExpired(watch, nowMs);
  }

  #hasExpired({ keys }: Watch, nowMs: number): boolean {
    const view = this.#ground.view();
    return keys.some(({ place, expired }) => {
      const now = expiredOf(view, place, nowMs);
      return now !== 'nothing' && now !== expired;
    });
  }

  #register([, token, ...keys]: CommandLine, settled: boolean): void {
    const watch = this.#open(token!.toString('latin1'));
    watch.calls++;
    const view = this.#ground.view();
    const nowMs = this.#ground.nowMs();
    for (const key of keys) {
      const place = encodeKey(key);
      const expired = expiredOf(view, place, nowMs);
      const stale = expired === 'all' && settled;
      watch.keys.push({ place, expired, stale });
      this.#name(watch, observableName(place)!);
      // whoever writes to it again does so under another version
      if (stale) continue;
      const record = view.get(place);
      const header = record && decodeHeader(place, record);
      if (header === undefined || header.type === 'string') continue;
      this.#name(watch, elementsName(key, decodeCollection(place, header.body).version));
    }
    while (this.#byToken.size > limits.watchesPerPartitionMax) {
      this.#remove(this.#byToken.values().next().value!);
    }
  }

  #open(token: string): Watch {
    const term = this.#ground.term();
    const known = this.#byToken.get(token);
    if (known?.term === term && !known.leaving) return known;
    if (known !== undefined) this.#remove(known);
    const watch: Watch = {
      token,
      term,
      keys: [],
      names: [],
      calls: 0,
      inFlight: 0,
      servedUpTo: 0,
      touched: false,
      leaving: false,
    };
    this.#byToken.set(token, watch);
    return watch;
  }

  #name(watch: Watch, name: string): void {
    watch.names.push(name);
    const sharing = this.#byName.get(name);
    if (sharing === undefined) this.#byName.set(name, new Set([watch]));
    else sharing.add(watch);
  }

  /** Nothing when it has been forgotten already. */
  #remove(watch: Watch): void {
    if (this.#byToken.get(watch.token) !== watch) return;
    this.#byToken.delete(watch.token);
    for (const name of watch.names) {
      const sharing = this.#byName.get(name);
      sharing?.delete(watch);
      if (sharing?.size === 0) this.#byName.delete(name);
    }
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
    if (command.kind !== 'write') return;
    if (command.empties === true) for (const watch of this.#byToken.values()) found.add(watch);
    const deletes = command.name === 'del' || command.name === 'unlink';
    for (const key of keysOf(command, line)) {
      const place = encodeKey(key);
      for (const watch of this.#byName.get(observableName(place)!) ?? []) {
        // what comes behind its EXEC is none of its business, nor is what that does itself
        if (watch.leaving) continue;
        found.add(watch);
        // it may be gone again in the end, but not unseen
        if (!deletes && staleKey(watch, place) !== undefined) watch.touched = true;
      }
    }
  }
}

/** Their key's record, or an element of it, was changed. */
function touch(watching: Iterable<Watch>, { key, after }: Change, served: boolean): void {
  for (const watch of watching) {
    if (after !== undefined || served || !forgives(watch, key)) watch.touched = true;
  }
}

function staleKey({ keys }: Watch, place: Buffer): WatchedKey | undefined {
  return keys.find((key) => key.stale && key.place.equals(place));
}

/** That the record at `place` is gone is no change to this watch; the next one will be. */
function forgives(watch: Watch, place: Buffer): boolean {
  const stale = staleKey(watch, place);
  if (stale !== undefined) stale.stale = false;
  return stale !== undefined;
}

/**
 * By the time `nowMs`, of what is stored. Fields that are due are deleted soon, before anybody reads
 * the hash, which is a change like any other: those that expire behind others are told by that.
 */
function expiredOf(view: View, place: Buffer, nowMs: number): Expired {
  const record = view.get(place);
  if (record === undefined) return 'nothing';
  const header = decodeHeader(place, record);
  if (isExpired(place, header, nowMs)) return 'all';
  const dueMs = fieldsDueMsOf(place, header);
  return dueMs > 0 && dueMs <= nowMs ? 'fields' : 'nothing';
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
    (lines) =>
      settled(lines.some((line) => !line.ok && errorTable[line.code].outcome === 'unknown')),
    () => settled(true),
  );
}

/** Of a user key's record, as changes name it. */
function nameOf(key: string): string {
  return observableName(encodeKey(Buffer.from(key, 'latin1')))!;
}
