/**
 * What a write of few bytes makes of what is stored. EXPIRE, APPEND, COPY and their like put a whole value
 * again: of 512 of them, in 20 KB of requests, every replica would hold 8 GiB at once, again after each
 * restart, were they applied together. What is told here is what may be put, not what will be.
 */
import type { CommandLine } from '../entries/batch.ts';
import { growthOf } from './line-growth.ts';

/** A value that is put without having come with the line. */
export interface Rewriting {
  /** It has as many bytes as the longest value of these keys. */
  readonly from: readonly Buffer[];
  /** Where it is put. */
  readonly to: Buffer;
  /** But so many at least. What an APPEND adds came with its line, and counts there. */
  readonly least: number;
}

const LETTER_A = 0x61;
const LOWER_CASE = 0x20;
/** By the length of a name, with what letters those begin that may be meant. */
const LETTERS = [
  '',
  '',
  '',
  '',
  'c',
  'bg',
  'aers',
  'p',
  'bejrs',
  'jp',
  'jz',
  'jz',
  'j',
  '',
  'j',
].map((letters) =>
  [...letters].reduce((mask, letter) => mask | (1 << (letter.charCodeAt(0) - LETTER_A)), 0),
);

/** Whether `name` may be that of a command that rewrites values; false is certain, and costs nothing. */
export function mayRewrite(name: Buffer): boolean {
  const mask = LETTERS[name.length];
  return mask !== undefined && ((mask >>> ((name[0]! | LOWER_CASE) - LETTER_A)) & 1) === 1;
}

/** What `line` rewrites, which is no EXEC; undefined: nothing. */
export function rewritingOf(line: CommandLine): Rewriting | undefined {
  const [name, key, second] = line;
  if (!mayRewrite(name!) || key === undefined) return undefined;
  switch (name!.toString('latin1').toLowerCase()) {
    case 'expire':
    case 'pexpire':
    case 'expireat':
    case 'pexpireat':
    case 'persist':
    case 'append':
      return inPlace(key);
    case 'getex':
      return second && inPlace(key);
    case 'setrange':
    case 'setbit':
    case 'bitfield':
      return inPlace(key, growthOf(line));
    case 'zan.expire':
    case 'zan.persist':
      return second && inPlace(second);
    case 'copy':
    case 'rename':
    case 'renamenx':
      return second && { from: [key], to: second, least: 0 };
    case 'json.del':
    case 'json.forget':
    case 'json.clear':
    case 'json.set':
    case 'json.merge':
    case 'json.numincrby':
    case 'json.nummultby':
    case 'json.strappend':
    case 'json.toggle':
    case 'json.arrappend':
    case 'json.arrinsert':
    case 'json.arrpop':
    case 'json.arrtrim':
      return inPlace(key);
    case 'json.mset':
      return { from: line.filter((_, at) => at % 3 === 1), to: key, least: 0 };
    case 'bitop':
      return second && { from: line.slice(3), to: second, least: 0 };
    default:
      return undefined;
  }
}

function inPlace(key: Buffer, least = 0): Rewriting {
  return { from: [key], to: key, least };
}
