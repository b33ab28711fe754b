/**
 * What a write makes of nothing. SETRANGE, SETBIT and BITFIELD pad a value up to a place that a few
 * bytes name: in 28 KB of requests there are 8 GiB of zeros, which every replica would hold at once, again
 * after each restart, were they applied together.
 */
import { limits } from '../../../common/limits.ts';
import type { CommandLine } from '../entries/batch.ts';

/** Bits of the widest field, by whose number `#` counts. */
const FIELD_BYTES_MAX = 8;
const HASH = 0x23;
/** No place has more digits that is not refused. */
const DIGITS_MAX = 10;

/** Bytes that the value may come to have beyond those of the line; at most those of a value. */
export function growthOf(line: CommandLine): number {
  const name = line[0]!;
  // most writes are told apart by this much
  if ((name.length !== 8 && name.length !== 6) || line.length < 4) return 0;
  switch (name.toString('latin1').toLowerCase()) {
    case 'setrange':
      return bounded(numberOf(line[2]!));
    case 'setbit':
      return bounded(numberOf(line[2]!) / 8);
    case 'bitfield':
      return line.reduce((most, word, at) => Math.max(most, at < 2 ? 0 : fieldAt(word)), 0);
    default:
      return 0;
  }
}

/** As if the word were the place of a field: what is counted for a number that is none is too much. */
function fieldAt(word: Buffer): number {
  const at = word[0] === HASH ? numberOf(word.subarray(1)) * FIELD_BYTES_MAX : numberOf(word) / 8;
  return bounded(at);
}

/** 0: it is none, or the command is refused. */
function numberOf(word: Buffer): number {
  if (word.length > DIGITS_MAX) return 0;
  const number = Number(word.toString('latin1'));
  return Number.isNaN(number) ? 0 : Math.max(0, number);
}

function bounded(bytes: number): number {
  return Math.min(bytes, limits.valueBytesMax);
}
