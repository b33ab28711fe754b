/**
 * HalfSipHash (Aumasson, Bernstein: SipHash; the form with words of 32 bits): a keyed hash of short
 * inputs. Nobody who does not know the key can choose inputs that share a hash. 64 bits come out, as
 * two numbers, so that nothing is allocated.
 *
 * Rounds: one for each word and three at the end, as hash tables take it (Linux's hsiphash), unless
 * others are asked for; the published vectors are those of two and four.
 */

export interface SipRounds {
  /** After each word of the input. */
  readonly compression: number;
  /** Before each word of the hash. */
  readonly finalization: number;
}

const ROUNDS: SipRounds = { compression: 1, finalization: 3 };
const INITIAL_2 = 0x6c796765;
const INITIAL_3 = 0x74656462;

export class HalfSipHash {
  /** Of the last input, the first four bytes of its hash and the others, as signed numbers. */
  low = 0;
  high = 0;
  readonly #key0: number;
  readonly #key1: number;
  readonly #rounds: SipRounds;
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;

  /** The key is two numbers of 32 bits. */
  constructor(key0: number, key1: number, rounds = ROUNDS) {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
    this.#rounds = rounds;
  }

  /** Hashes `bytes` into `low` and `high`; with `salt`, as if its four bytes came before them. */
  hash(bytes: Uint8Array, salt?: number): void {
    this.#v0 = this.#key0;
    this.#v1 = this.#key1 ^ 0xee;
    this.#v2 = INITIAL_2 ^ this.#key0;
    this.#v3 = INITIAL_3 ^ this.#key1;
    if (salt !== undefined) this.#take(salt | 0);
    const { length } = bytes;
    let at = 0;
    for (; at + 4 <= length; at += 4) {
      const low = bytes[at]! | (bytes[at + 1]! << 8);
      this.#take(low | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    }
    let last = (length + (salt === undefined ? 0 : 4)) << 24;
    for (let shift = 0; at < length; at++, shift += 8) last |= bytes[at]! << shift;
    this.#take(last);
    this.#v2 ^= 0xee;
    this.#mix(this.#rounds.finalization);
    this.low = this.#v1 ^ this.#v3;
    this.#v1 ^= 0xdd;
    this.#mix(this.#rounds.finalization);
    this.high = this.#v1 ^ this.#v3;
  }

  #take(word: number): void {
    this.#v3 ^= word;
    this.#mix(this.#rounds.compression);
    this.#v0 ^= word;
  }

  #mix(rounds: number): void {
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    for (let round = 0; round < rounds; round++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
  }
}
