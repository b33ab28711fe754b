/**
 * What took place and in which order, in 64 bits: equal runs have equal values. In plain arithmetic,
 * since it is asked for with every event: a call out of JavaScript costs more than the sum itself.
 */
const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

export class TraceHash {
  #one = 0x9e37_79b9 | 0;
  #other = 0x243f_6a88 | 0;

  get value(): string {
    return hex(this.#one) + hex(this.#other);
  }

  number(value: number): void {
    double[0] = value;
    this.#mix(halves[0]!);
    this.#mix(halves[1]!);
  }

  text(text: string): void {
    this.#mix(text.length);
    let at = 0;
    for (; at + 1 < text.length; at += 2) {
      this.#mix(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16));
    }
    if (at < text.length) this.#mix(text.charCodeAt(at));
  }

  /** Each lane takes every word to another value, whatever it was before: murmur3's steps. */
  #mix(word: number): void {
    const spread = Math.imul(rotated(Math.imul(word, 0xcc9e_2d51), 15), 0x1b87_3593);
    this.#one = (Math.imul(rotated(this.#one ^ spread, 13), 5) + 0xe654_6b64) | 0;
    const other = Math.imul(this.#other ^ word, 0x85eb_ca6b);
    this.#other = Math.imul(other ^ (other >>> 13), 0xc2b2_ae35) ^ (other >>> 16);
  }
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
