/**
 * What clients do, drawn from a seed: requests over keys of a generation. Generations follow each
 * other, so that the history of each key stays short enough to be judged.
 */
import type { Random } from '../src/common/random.ts';
import type { Request } from './doors.ts';

export const families = [
  ...['register', 'counter', 'set', 'queue'],
  ...['append', 'transaction', 'watch', 'deadline'],
] as const;

export interface Work extends Request {
  readonly family: (typeof families)[number];
}

const KEYS: Readonly<Record<string, number>> = {
  ...{ register: 5, counter: 3, set: 3, queue: 3 },
  ...{ append: 3, transaction: 3, watch: 2, deadline: 4 },
};

/** Values are unique in the whole run. */
export class Worker {
  readonly #random: Random;
  readonly #name: string;
  #count = 0;

  constructor(random: Random, name: string) {
    this.#random = random;
    this.#name = name;
  }

  next(generation: number): Work {
    const family = this.#one(families);
    const number = this.#random.below(KEYS[family]!);
    const key = `${generation}:${family}:${number}`;
    return { family, ...this.#request(family, key) };
  }

  /** A client that waits at queues, and does nothing else. */
  nextWait(generation: number): Work {
    const key = `${generation}:queue:${this.#random.below(KEYS['queue']!)}`;
    const name = this.#one(['BLPOP', 'BRPOP'] as const);
    return { family: 'queue', lines: [[name, key, this.#one(['0.3', '1'])]] };
  }

  #request(family: Work['family'], key: string): Request {
    switch (family) {
      case 'append':
        return this.#append(`{${key}}`);
      case 'transaction':
        return this.#transaction(`{${key}}`);
      case 'watch':
        return this.#watch(key);
      default:
        return { lines: [this.#line(family, key)] };
    }
  }

  #line(family: Work['family'], key: string): readonly string[] {
    const member = () => `m${this.#random.below(6)}`;
    const draw = this.#random.float();
    switch (family) {
      case 'counter':
        if (draw < 0.6) return ['INCR', key];
        return draw < 0.75 ? ['INCRBY', key, String(2 + this.#random.below(9))] : ['GET', key];
      case 'set':
        if (draw < 0.35) return ['SADD', key, member()];
        if (draw < 0.48) return ['SREM', key, member()];
        if (draw < 0.58) return ['SPOP', key];
        if (draw < 0.61) return ['SPOP', key, '2'];
        if (draw < 0.66) return ['SRANDMEMBER', key];
        return draw < 0.85 ? ['SMEMBERS', key] : ['SISMEMBER', key, member()];
      case 'queue':
        if (draw < 0.6) return ['RPUSH', key, this.#value()];
        if (draw < 0.7) return ['LPUSH', key, this.#value()];
        return draw < 0.9 ? ['LPOP', key] : ['LLEN', key];
      case 'deadline':
        if (draw < 0.4) {
          return ['SET', key, this.#value(), 'PX', String(300 + this.#random.below(1_200))];
        }
        return ['GET', key];
      default:
        if (draw < 0.4) return ['GET', key];
        if (draw < 0.7) return ['SET', key, this.#value()];
        if (draw < 0.8) return ['GETSET', key, this.#value()];
        return draw < 0.9 ? ['SET', key, this.#value(), 'NX'] : ['DEL', key];
    }
  }

  /** Lists that only grow: one command, or several in a transaction over the keys of a tag. */
  #append(tag: string): Request {
    const count = this.#random.below(3) + 1;
    const lines = Array.from({ length: count }, () => {
      const key = `${tag}${this.#one(['x', 'y', 'z'])}`;
      return this.#random.float() < 0.5
        ? ['RPUSH', key, this.#value()]
        : ['LRANGE', key, '0', '-1'];
    });
    return { lines, ...(count > 1 && { isTransaction: true }) };
  }

  #transaction(tag: string): Request {
    const value = this.#value();
    const both = [
      ['SET', `${tag}x`, value],
      ['SET', `${tag}y`, value],
      ['INCR', `${tag}n`],
    ];
    const reads = [
      ['GET', `${tag}x`],
      ['GET', `${tag}y`],
      ['GET', `${tag}n`],
    ];
    const draw = this.#random.float();
    if (draw < 0.2) return { lines: [reads[this.#random.below(3)]!] };
    return { lines: draw < 0.6 ? both : reads, isTransaction: true };
  }

  #watch(key: string): Request {
    if (this.#random.float() < 0.5) return { lines: [['GET', key]] };
    return { lines: [['SET', key, this.#value()]], isTransaction: true, watch: key };
  }

  #value(): string {
    return `${this.#name}-${++this.#count}`;
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#random.below(all.length)]!;
  }
}

/** What reads a key as a whole, by the family in its name. */
export function readOf(key: string): readonly string[] {
  const family = families.find((one) => key.includes(`:${one}:`));
  if (family === 'set') return ['SMEMBERS', key];
  if (family === 'queue' || family === 'append') return ['LRANGE', key, '0', '-1'];
  return ['GET', key];
}
