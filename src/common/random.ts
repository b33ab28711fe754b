import { randomBytes } from 'node:crypto';

/** Randomness as it is handed in. */
export interface Random {
  /** A uniform whole number in [0, 2^32). */
  u32(): number;
  /** A uniform whole number in [0, bound); bound in 1..2^32. */
  below(bound: number): number;
  /** A uniform float in [0, 1). */
  float(): number;
  /** `count` random bytes as lower-case hex, 2 × count characters. */
  hex(count: number): string;
  /** An independent stream named `label`: a new consumer does not shift the others. */
  fork(label: string): Random;
}

/** xoshiro128** (Blackman and Vigna) seeded through splitmix32; the same seed gives the same run. */
export function seededRandom(seed: number | string): Random {
  const state = new Uint32Array(4);
  let mix = typeof seed === 'number' ? seed >>> 0 : hashLabel(seed, 0x811c9dc5);
  const origin = mix;
  for (let i = 0; i < 4; i++) {
    mix = (mix + 0x9e3779b9) >>> 0;
    let z = mix;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    state[i] = (z ^ (z >>> 15)) >>> 0;
  }
  const u32 = () => nextXoshiro(state);
  return fromU32(u32, (label) => seededRandom(hashLabel(label, origin)));
}

/** The host's randomness (node:crypto), buffered so that a draw costs nanoseconds. */
export function systemRandom(): Random {
  let pool = randomBytes(4096);
  let used = 0;
  const u32 = () => {
    if (used === pool.length) {
      pool = randomBytes(4096);
      used = 0;
    }
    used += 4;
    return pool.readUInt32LE(used - 4);
  };
  return fromU32(u32, () => systemRandom());
}

function fromU32(u32: () => number, fork: (label: string) => Random): Random {
  const float = () => (u32() * 0x200000 + (u32() >>> 11)) / 0x20000000000000;
  return {
    u32,
    float,
    below: (bound) => Math.floor(float() * bound),
    hex(count) {
      let text = '';
      for (let i = 0; i < count; i++) text += (u32() & 0xff).toString(16).padStart(2, '0');
      return text;
    },
    fork,
  };
}

function nextXoshiro(s: Uint32Array): number {
  const s1 = s[1]!;
  const result = Math.imul(rotl(Math.imul(s1, 5), 7), 9) >>> 0;
  const t = s1 << 9;
  s[2]! ^= s[0]!;
  s[3]! ^= s1;
  s[1]! ^= s[2]!;
  s[0]! ^= s[3]!;
  s[2]! ^= t;
  s[3] = rotl(s[3]!, 11);
  return result;
}

function rotl(x: number, k: number): number {
  return (x << k) | (x >>> (32 - k));
}

function hashLabel(label: string, start: number): number {
  let hash = start;
  for (let i = 0; i < label.length; i++) {
    hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}
