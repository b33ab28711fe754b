/**
 * A map from strings that grows a little at a time. A Map of a million entries moves all of them
 * when it grows, and holds the event loop for 100 ms; this one is many small Maps, of which one is
 * split when all together have grown (linear hashing).
 */

/**
 * Mean size of the small ones; some have twice as many, or a few times by bad luck: then it takes a
 * fraction of a millisecond to split one, and 1 to 2 where it is 1,024. The CPU time is the same.
 */
const FILL = 256;
/** Up to this size there is only one: it is not worth splitting. */
const WHOLE_MAX = 4 * FILL;
/** So many characters at the end of a key decide where it is. */
const HASHED_CHARACTERS = 32;

export class SteadyMap<Value> {
  readonly #maps: Map<string, Value>[] = [new Map()];
  #size = 0;
  /** Power of two up to which places are told apart, and by the next one those before `#split`. */
  #places = 1;
  #split = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#size === 0 ? undefined : this.#maps[this.#placeOf(key)]!.get(key);
  }

  set(key: string, value: Value): void {
    const map = this.#maps[this.#placeOf(key)]!;
    const before = map.size;
    map.set(key, value);
    if (map.size > before) this.#grow();
  }

  /** What is there under `key`; `value`, put there, when nothing is. */
  getOrSet(key: string, value: Value): Value {
    const map = this.#maps[this.#placeOf(key)]!;
    const known = map.get(key);
    if (known !== undefined) return known;
    map.set(key, value);
    this.#grow();
    return value;
  }

  #grow(): void {
    this.#size++;
    if (this.#size > WHOLE_MAX && this.#size > this.#maps.length * FILL) this.#splitNext();
  }

  /** In no certain order, but always in the same for the same history. */
  *values(): Generator<Value, void, unknown> {
    for (const map of this.#maps) yield* map.values();
  }

  #placeOf(key: string): number {
    // most maps stay so small, and the engine hashes the key itself
    if (this.#maps.length === 1) return 0;
    const hash = hashOf(key);
    const place = hash & (this.#places - 1);
    return place < this.#split ? hash & (2 * this.#places - 1) : place;
  }

  #splitNext(): void {
    const stay = new Map<string, Value>();
    const go = new Map<string, Value>();
    for (const [key, value] of this.#maps[this.#split]!) {
      ((hashOf(key) & this.#places) === 0 ? stay : go).set(key, value);
    }
    this.#maps[this.#split] = stay;
    this.#maps.push(go);
    this.#split++;
    if (this.#split < this.#places) return;
    this.#places *= 2;
    this.#split = 0;
  }
}

/** FNV-1a, its high bits mixed into the low ones. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5 ^ key.length;
  for (let at = Math.max(0, key.length - HASHED_CHARACTERS); at < key.length; at++) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) & 0x7fff_ffff;
}
