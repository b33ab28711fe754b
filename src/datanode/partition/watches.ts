/**
 * WATCH, in the memory of a partition's leader. A watch begins when its WATCH line is gathered, and
 * is over when its EXEC arrives: that is proposed only if the same leadership still knows the watch,
 * nothing applied since has changed a watched key, and nothing on its way may. What is lost here (a
 * new leader, too many watches) answers nil: the client tries again, and nothing was overwritten.
 */
import type { Term } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { keysOf } from '../commands/command.ts';
import { decodeExec, type Watched, watchedOf } from '../commands/exec-line.ts';
import { resolveCommand } from '../commands/table.ts';
import { decodeCollection, decodeHeader } from '../encoding/header.ts';
import { encodeKey } from '../encoding/key.ts';
import { elementsName, observableName } from '../encoding/key-name.ts';
import { isExpired } from '../encoding/keyspace.ts';
import type { View } from '../encoding/view.ts';
import { NULL_ARRAY } from '../resp/reply.ts';
import type { CommandBatch, CommandLine, LineResult } from './batch.ts';

export interface WatchGround {
  view(): View;
  /** The group's time, as reads judge by it. */
  nowMs(): number;
  term(): Term;
  /** Takes writes on, in the order of the calls. */
  gather(batch: CommandBatch): Promise<readonly LineResult[]>;
}

interface WatchedKey {
  /** Its record's key in the engine. */
  readonly place: Buffer;
  /** It had expired when it was watched: that it has is no news. */
  readonly expired: boolean;
}

interface Watch {
  readonly token: string;
  readonly term: Term;
  readonly keys: WatchedKey[];
  readonly names: string[];
  calls: number;
  /** Batches on their way that may change a watched key. */
  inFlight: number;
  touched: boolean;
}

export class Watches {
  readonly #ground: WatchGround;
  /** The oldest first. */
  readonly #byToken = new Map<string, Watch>();
  readonly #byName = new Map<string, Set<Watch>>();

  constructor(ground: WatchGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#byToken.size;
  }

  /** Takes a batch of writes on; an EXEC whose watch is broken is answered here and goes nowhere. */
  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    const { lines } = batch;
    const [first] = lines;
    if (isNamed(first!, 'exec') && !this.#mayExec(watchedOf(first!))) {
      return Promise.resolve([{ ok: true, reply: NULL_ARRAY }]);
    }
    const results = this.#ground.gather(batch);
    if (this.#byToken.size > 0 || lines.some(isWatch)) this.#notice(lines, results);
    return results;
  }

  /** What an applied batch changed, as keys of the engine. */
  onChanged(changes: () => Iterable<{ readonly key: Buffer }>): void {
    if (this.#byToken.size === 0) return;
    for (const { key } of changes()) {
      const name = observableName(key);
      for (const watch of (name && this.#byName.get(name)) || []) watch.touched = true;
    }
  }

  /** The partition is about to be emptied. */
  onClear(): void {
    const view = this.#ground.view();
    for (const watch of this.#byToken.values()) {
      if (watch.keys.some(({ place }) => view.get(place) !== undefined)) watch.touched = true;
    }
  }

  #notice(lines: readonly CommandLine[], results: Promise<unknown>): void {
    const touched = new Set<Watch>();
    for (const line of lines) {
      if (isWatch(line)) this.#register(line);
      else this.#find(line, touched);
    }
    if (touched.size > 0) countInFlight(touched, results);
  }

  #mayExec({ token, calls }: Watched): boolean {
    if (token === '') return true;
    const watch = this.#byToken.get(token);
    if (watch === undefined) return false;
    this.#remove(watch);
    const { touched, inFlight, term } = watch;
    if (touched || inFlight > 0 || watch.calls !== calls) return false;
    return term === this.#ground.term() && !this.#hasExpired(watch);
  }

  #hasExpired({ keys }: Watch): boolean {
    const view = this.#ground.view();
    const nowMs = this.#ground.nowMs();
    return keys.some(({ place, expired }) => !expired && isPast(view, place, nowMs));
  }

  #register([, token, ...keys]: CommandLine): void {
    const watch = this.#open(token!.toString('latin1'));
    watch.calls++;
    const view = this.#ground.view();
    const nowMs = this.#ground.nowMs();
    for (const key of keys) {
      const place = encodeKey(key);
      watch.keys.push({ place, expired: isPast(view, place, nowMs) });
      this.#name(watch, observableName(place)!);
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
    if (known?.term === term) return known;
    if (known !== undefined) this.#remove(known);
    const watch = { token, term, keys: [], names: [], calls: 0, inFlight: 0, touched: false };
    this.#byToken.set(token, watch);
    return watch;
  }

  #name(watch: Watch, name: string): void {
    watch.names.push(name);
    const sharing = this.#byName.get(name);
    if (sharing === undefined) this.#byName.set(name, new Set([watch]));
    else sharing.add(watch);
  }

  #remove(watch: Watch): void {
    this.#byToken.delete(watch.token);
    for (const name of watch.names) {
      const sharing = this.#byName.get(name);
      sharing?.delete(watch);
      if (sharing?.size === 0) this.#byName.delete(name);
    }
  }

  /** The watches whose keys `line` names. */
  #find(line: CommandLine, found: Set<Watch>): void {
    if (isNamed(line, 'exec')) {
      for (const inner of decodeExec(line) ?? []) this.#find(inner, found);
      return;
    }
    const command = resolveCommand(line);
    if (command?.kind !== 'write') return;
    if (command.empties === true) for (const watch of this.#byToken.values()) found.add(watch);
    for (const key of keysOf(command, line)) {
      for (const watch of this.#byName.get(observableName(encodeKey(key))!) ?? []) found.add(watch);
    }
  }
}

function isPast(view: View, place: Buffer, nowMs: number): boolean {
  const record = view.get(place);
  return record !== undefined && isExpired(place, decodeHeader(place, record), nowMs);
}

/** The first letter spares other lines the comparison. */
function isNamed(line: CommandLine, name: 'exec' | 'watch'): boolean {
  const word = line[0]!;
  if (word.length !== name.length || (word[0]! | 0x20) !== name.charCodeAt(0)) return false;
  return word.toString('latin1').toLowerCase() === name;
}

function isWatch(line: CommandLine): boolean {
  return isNamed(line, 'watch');
}

function countInFlight(watches: ReadonlySet<Watch>, results: Promise<unknown>): void {
  for (const watch of watches) watch.inFlight++;
  const settled = () => {
    for (const watch of watches) watch.inFlight--;
  };
  results.then(settled, settled);
}
