/**
 * What a leader remembers of WATCH: the keys of each watch, and by the name of what may change
 * (`key-name.ts`) those who watch it. Bounded by watches, keys and bytes, since nobody tells of a
 * client that has gone: the oldest watches are forgotten first.
 */
import type { LogIndex, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';

export interface WatchedKey {
  /** Of its record, as `observableName` has it: the engine's key as latin1. */
  readonly name: string;
  /** It had expired when it was watched, and its record is there yet: that it goes is no news. */
  stale: boolean;
}

export interface Watch {
  readonly token: string;
  readonly term: Term;
  /** By name. */
  readonly keys: Map<string, WatchedKey>;
  /** Of all that may change: records and elements. */
  readonly names: string[];
  /** That it takes in memory, near enough. */
  bytes: number;
  calls: number;
  /** Batches on their way that may change a watched key. */
  inFlight: number;
  /** Clients that entries up to this one serve may change a watched key. */
  servedUpTo: LogIndex;
  touched: boolean;
  /** From then on something of its keys has expired that had not when they were watched. */
  breaksMs: number;
  /** By when fields that were due hid when others of a watched hash are. */
  hidesMs: number;
  /** It has had more keys, or bytes of them, than one may have: none is remembered. */
  outgrown: boolean;
  /** Its EXEC is gathered, and not in an entry yet. */
  leaving: boolean;
}

/** Of objects and tables, beside the name itself, near enough. */
const NAME_BYTES = 128;
const KEY_BYTES = 128;
const NONE: ReadonlySet<Watch> = new Set();

export class WatchBook {
  /** The oldest first. */
  readonly #byToken = new Map<string, Watch>();
  readonly #byName = new Map<string, Set<Watch>>();
  #bytes = 0;

  get count(): number {
    return this.#byToken.size;
  }

  /** That all watches take in memory, near enough. */
  get bytes(): number {
    return this.#bytes;
  }

  all(): Iterable<Watch> {
    return this.#byToken.values();
  }

  find(token: string): Watch | undefined {
    return this.#byToken.get(token);
  }

  /** Who watches what has this name. */
  watching(name: string): ReadonlySet<Watch> {
    return this.#byName.get(name) ?? NONE;
  }

  /** All names, each with those who watch it. */
  names(): Iterable<readonly [string, ReadonlySet<Watch>]> {
    return this.#byName;
  }

  /**
   * The watch of this token and term; a new one when there is none, or one of another term, or its
   * EXEC has come.
   */
  open(token: string, term: Term): Watch {
    const known = this.#byToken.get(token);
    if (known?.term === term && !known.leaving) return known;
    if (known !== undefined) this.remove(known);
    const watch: Watch = {
      token,
      term,
      keys: new Map(),
      names: [],
      bytes: KEY_BYTES,
      calls: 0,
      inFlight: 0,
      servedUpTo: 0,
      touched: false,
      breaksMs: Number.POSITIVE_INFINITY,
      hidesMs: Number.POSITIVE_INFINITY,
      outgrown: false,
      leaving: false,
    };
    this.#byToken.set(token, watch);
    this.#bytes += watch.bytes;
    return watch;
  }

  /** `elements`: the name of those it has, if it is a collection. */
  add(watch: Watch, key: WatchedKey, elements: string | undefined): void {
    watch.keys.set(key.name, key);
    this.#grow(watch, KEY_BYTES);
    this.#name(watch, key.name);
    if (elements !== undefined) this.#name(watch, elements);
    const { watchKeysMax, watchBytesMax } = limits;
    if (watch.keys.size <= watchKeysMax && watch.bytes <= watchBytesMax) return;
    this.#forgetKeys(watch);
    watch.outgrown = true;
  }

  /** Forgets the oldest watches until the others are within the bounds of a partition. */
  trim(): void {
    const { watchesPerPartitionMax, watchBytesPerPartitionMax } = limits;
    for (const watch of this.#byToken.values()) {
      const { size } = this.#byToken;
      if (size <= watchesPerPartitionMax && this.#bytes <= watchBytesPerPartitionMax) return;
      this.remove(watch);
    }
  }

  /** Nothing when it has been forgotten already. */
  remove(watch: Watch): void {
    if (this.#byToken.get(watch.token) !== watch) return;
    this.#byToken.delete(watch.token);
    this.#forgetKeys(watch);
    this.#bytes -= watch.bytes;
  }

  clear(): void {
    this.#byToken.clear();
    this.#byName.clear();
    this.#bytes = 0;
  }

  #forgetKeys(watch: Watch): void {
    for (const name of watch.names) {
      const sharing = this.#byName.get(name);
      sharing?.delete(watch);
      if (sharing?.size === 0) this.#byName.delete(name);
    }
    watch.names.length = 0;
    watch.keys.clear();
    this.#grow(watch, KEY_BYTES - watch.bytes);
  }

  #name(watch: Watch, name: string): void {
    watch.names.push(name);
    this.#grow(watch, NAME_BYTES + name.length);
    const sharing = this.#byName.get(name);
    if (sharing === undefined) this.#byName.set(name, new Set([watch]));
    else sharing.add(watch);
  }

  #grow(watch: Watch, bytes: number): void {
    watch.bytes += bytes;
    this.#bytes += bytes;
  }
}
