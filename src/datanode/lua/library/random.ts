/** Redis's generator for `math.random`: drand48. Where it begins is for whoever runs the script to say. */

/** The multiplier and the state have 48 bits, in two halves: so products stay whole numbers. */
const HALF = 2 ** 24;
const MULTIPLIER_HIGH = 0x5de;
const MULTIPLIER_LOW = 0xece66d;
const INCREMENT = 0xb;
const SEED_LOW = 0x330e;

const NUMBERS = 2 ** 31 - 1;

export class RandomNumbers {
  #high = 0;
  #low = SEED_LOW;

  /** 32 bits. */
  seed(seed: number): void {
    const bits = seed >>> 0;
    this.#high = Math.floor(bits / 2 ** 8);
    this.#low = (bits % 2 ** 8) * 2 ** 16 + SEED_LOW;
  }

  /** At least 0, less than 1. */
  next(): number {
    const product = MULTIPLIER_LOW * this.#low + INCREMENT;
    const high =
      Math.floor(product / HALF) + MULTIPLIER_HIGH * this.#low + MULTIPLIER_LOW * this.#high;
    this.#low = product % HALF;
    this.#high = high % HALF;
    const bits = this.#high * 2 ** 7 + Math.floor(this.#low / 2 ** 17);
    return (bits % NUMBERS) / NUMBERS;
  }
}
