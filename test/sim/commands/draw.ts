/**
 * Words of commands, drawn from a seed. There are few keys and few values, so that commands meet:
 * most find a key of the type they are about, some find another.
 */
import type { Random } from '../../../src/common/random.ts';

export type Word = string | Buffer;
export type Line = readonly Word[];

/** The words behind a command's name. */
export type Arguments = (draw: Draw) => Line;

/** One letter per type of key. */
export type Family = 's' | 'n' | 'b' | 'p' | 'h' | 'l' | 'e' | 'z' | 'g' | 'x' | 'j';

const families: readonly Family[] = ['s', 'n', 'b', 'p', 'h', 'l', 'e', 'z', 'g', 'x', 'j'];
/** Keys of one tag are in one partition. */
const tags = ['a', 'b', 'c', 'f'];
/** What keys of a tag and type end in: those with a colon are of a table. */
export const tabledName = '1';
const NAMES = ['0', `:${tabledName}`];
/** In the order of bytes, of numbers and of languages these come differently. */
const members = ['a', 'B', 'b', 'ä', 'z', 'Z', 'i', 'I', 'ı', 'ö', '1', '2', '10', '-3', '', 'zz'];
const values = [...members, '3.5', '1e3', 'x'.repeat(70), '12345678901'];
const scores = ['0', '1', '1', '2', '-1.5', '3', '1e3', 'inf', '-inf', '0.1', '-0'];

function tableOf(tag: string, family: Family): string {
  return `{${tag}}${family}`;
}

/** Of those families, whatever the tag. */
export function tablesOf(family: Family): readonly string[] {
  return tags.map((tag) => tableOf(tag, family));
}

export class Draw {
  readonly random: Random;
  /** Payloads that DUMP gave, the newest last. */
  readonly dumps: Buffer[] = [];
  readonly #wallMs: () => number;
  #tag = tags[0]!;

  constructor(random: Random, wallMs: () => number) {
    this.random = random;
    this.#wallMs = wallMs;
  }

  /** What keys begin with. */
  get tag(): string {
    return `{${this.#tag}}`;
  }

  /** What follows is about the keys of one partition. */
  turn(): void {
    this.#tag = this.one(tags);
  }

  chance(share: number): boolean {
    return this.random.float() < share;
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.random.below(choices.length)]!;
  }

  number(min: number, max: number): number {
    return min + this.random.below(max - min + 1);
  }

  int(min: number, max: number): string {
    return String(this.number(min, max));
  }

  /** Up to `max` times what `words` draws, at least once. */
  some(max: number, words: () => Line): Line {
    return Array.from({ length: this.number(1, max) }, words).flat();
  }

  /** `words` half of the time, nothing otherwise. */
  maybe(...words: Line): Line {
    return this.chance(0.5) ? words : [];
  }

  key(family: Family): string {
    const of = this.chance(0.04) ? this.one(families) : family;
    return `${this.tag}${of}${this.one(NAMES)}`;
  }

  /** What the names of some keys of that family have before a colon. */
  table(family: Family): string {
    return tableOf(this.#tag, family);
  }

  anyKey(): string {
    return this.key(this.one(families));
  }

  /** Keys with their count before them. */
  counted(family: Family, max = 3): Line {
    const keys = this.some(max, () => [this.key(family)]);
    return [String(keys.length), ...keys];
  }

  member(): string {
    return this.one(members);
  }

  value(): string {
    return this.one(values);
  }

  score(): string {
    return this.one(scores);
  }

  float(): string {
    return String(this.number(-40, 40) / 8);
  }

  /** Passes during the run, most of the time. */
  milliseconds(): string {
    return this.chance(0.15) ? '600000' : this.int(20, 1_500);
  }

  seconds(): string {
    return this.chance(0.3) ? '600' : this.int(1, 2);
  }

  /** Of a client that blocks, in seconds. */
  timeout(): string {
    return String(this.number(1, 150) / 1_000);
  }

  /** Unix time, some of it past. */
  atMilliseconds(): string {
    return String(Math.floor(this.#wallMs()) + this.number(-200, 1_500));
  }

  atSeconds(): string {
    return String(Math.floor(this.#wallMs() / 1_000) + this.number(0, 3));
  }
}
